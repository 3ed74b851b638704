//go:build wasip1

// Package export_plugport_plugin_completions is what the generated exports call. The functions are variables, since the
// package that sets them imports the generated exports itself.
package export_plugport_plugin_completions

import (
	completions "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_completions"
	request "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_request"
	types "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_types"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// Pairs are names with values.
type Pairs = []wit.Tuple2[string, string]

// Completed is what came of completing.
type Completed = wit.Result[completions.Completion, types.Error]

// Complete suggests values for an argument.
var Complete func(call *request.Call, target completions.Target, argument, value string, context Pairs) Completed
