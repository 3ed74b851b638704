//go:build wasip1

// Package export_plugport_plugin_resources is what the generated exports call. The functions are variables, since the
// package that sets them imports the generated exports itself.
package export_plugport_plugin_resources

import (
	request "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_request"
	resources "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_resources"
	types "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_types"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// Matched is the template that a URI comes from, if there is one.
type Matched = wit.Option[resources.MatchedTemplate]

var (
	// ListResources lists the resources.
	ListResources func() wit.Result[[]types.ResourceDescriptor, types.Error]
	// ListResourceTemplates lists the templates.
	ListResourceTemplates func() wit.Result[[]resources.ResourceTemplate, types.Error]
	// ReadResource reads one, which may come from a template.
	ReadResource func(call *request.Call, uri string, template Matched) wit.Result[[]types.ResourceContents, types.Error]
)
