//go:build wasip1

// Package export_plugport_plugin_prompts is what the generated exports call. The functions are variables, since the
// package that sets them imports the generated exports itself.
package export_plugport_plugin_prompts

import (
	prompts "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_prompts"
	request "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_request"
	types "github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_types"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// Pairs are names with values.
type Pairs = []wit.Tuple2[string, string]

var (
	// ListPrompts lists the prompts.
	ListPrompts func() wit.Result[[]prompts.Prompt, types.Error]
	// GetPrompt makes the messages of one.
	GetPrompt func(call *request.Call, name string, args Pairs) wit.Result[prompts.PromptResult, types.Error]
)
