//go:build wasip1

// Package export_plugport_plugin_tools is what the generated exports call. The functions are variables, since the
// package that sets them imports the generated exports itself.
package export_plugport_plugin_tools

import (
	request "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_request"
	tools "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_tools"
	types "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_types"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

var (
	// ListTools lists the tools.
	ListTools func() wit.Result[[]tools.Tool, types.Error]
	// CallTool calls one.
	CallTool func(call *request.Call, name, args string) wit.Result[tools.ToolResult, types.Error]
)
