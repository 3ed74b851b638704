//go:build wasip1

package plugport

import (
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_completions"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_prompts"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_resources"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_tools"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_types"
	_ "github.com/plugport/plugport/sdk-guest/go/internal/bindings/wit_exports" // the functions that the host calls
	exported_completions "github.com/plugport/plugport/sdk-guest/go/internal/exports/export_plugport_plugin_completions"
	exported_prompts "github.com/plugport/plugport/sdk-guest/go/internal/exports/export_plugport_plugin_prompts"
	exported_resources "github.com/plugport/plugport/sdk-guest/go/internal/exports/export_plugport_plugin_resources"
	exported_tools "github.com/plugport/plugport/sdk-guest/go/internal/exports/export_plugport_plugin_tools"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// What the host calls, from the WIT's records to the SDK's types and back.

func init() {
	exported_tools.ListTools = func() wit.Result[[]plugport_plugin_tools.Tool, plugport_plugin_types.Error] {
		return each(listTools, toolOf)
	}
	exported_tools.CallTool = func(call handle, name, args string) wit.Result[plugport_plugin_tools.ToolResult, plugport_plugin_types.Error] {
		return rescued(func() wit.Result[plugport_plugin_tools.ToolResult, plugport_plugin_types.Error] {
			return exportCallTool(call, name, args)
		})
	}
	exported_resources.ListResources = func() wit.Result[[]plugport_plugin_types.ResourceDescriptor, plugport_plugin_types.Error] {
		return each(listResources, infoOf)
	}
	exported_resources.ListResourceTemplates = func() wit.Result[[]plugport_plugin_resources.ResourceTemplate, plugport_plugin_types.Error] {
		return each(listTemplates, templateOf)
	}
	exported_resources.ReadResource = func(call handle, uri string, template exported_resources.Matched) wit.Result[[]plugport_plugin_types.ResourceContents, plugport_plugin_types.Error] {
		defer call.Drop()
		read := func() ([]Contents, error) { return readResource(&Call{host: call}, uri, matchedOf(template)) }
		return each(read, resourceOf)
	}
	exported_prompts.ListPrompts = func() wit.Result[[]plugport_plugin_prompts.Prompt, plugport_plugin_types.Error] {
		return each(listPrompts, promptOf)
	}
	exported_prompts.GetPrompt = func(call handle, name string, args exported_prompts.Pairs) wit.Result[plugport_plugin_prompts.PromptResult, plugport_plugin_types.Error] {
		return rescued(func() wit.Result[plugport_plugin_prompts.PromptResult, plugport_plugin_types.Error] {
			return exportGetPrompt(call, name, args)
		})
	}
	exported_completions.Complete = func(call handle, target plugport_plugin_completions.Target, argument, value string, context exported_completions.Pairs) exported_completions.Completed {
		return rescued(func() exported_completions.Completed { return exportComplete(call, target, argument, value, context) })
	}
}

// rescued guards the conversion of what was made too: an author's MarshalJSON runs there, for instance.
func rescued[W any](make func() wit.Result[W, plugport_plugin_types.Error]) (made wit.Result[W, plugport_plugin_types.Error]) {
	var err error
	defer func() {
		if err != nil {
			made = wit.Err[W](errorOf(err))
		}
	}()
	defer guard(nil, "writing the answer", &err)
	return make()
}

// each calls a function and converts what it returned.
func each[T, W any](make func() ([]T, error), convert func(T) W) wit.Result[[]W, plugport_plugin_types.Error] {
	return rescued(func() wit.Result[[]W, plugport_plugin_types.Error] {
		made, err := make()
		if err != nil {
			return wit.Err[[]W](errorOf(err))
		}
		converted := []W{}
		for _, one := range made {
			converted = append(converted, convert(one))
		}
		return wit.Ok[[]W, plugport_plugin_types.Error](converted)
	})
}

func exportCallTool(call handle, name, args string) wit.Result[plugport_plugin_tools.ToolResult, plugport_plugin_types.Error] {
	defer call.Drop()
	result, err := callTool(&Call{host: call}, name, args)
	structured := ""
	if err == nil {
		structured, err = structuredText(result.Structured)
	}
	if err != nil {
		return wit.Err[plugport_plugin_tools.ToolResult](errorOf(err))
	}
	return wit.Ok[plugport_plugin_tools.ToolResult, plugport_plugin_types.Error](plugport_plugin_tools.ToolResult{
		Content: contentsOf(result.Content), Structured: optional(structured), IsError: result.IsError, Extra: extraOf(result.Extra),
	})
}

func toolOf(info ToolInfo) plugport_plugin_tools.Tool {
	return plugport_plugin_tools.Tool{
		Name: valid(info.Name), Title: optional(info.Title), Description: optional(info.Description),
		InputSchema: valid(info.InputSchema), OutputSchema: optional(info.OutputSchema),
		Annotations: hintsOf(info),
		Extra:       extraOf(info.Extra),
	}
}

func hintsOf(info ToolInfo) wit.Option[plugport_plugin_tools.ToolAnnotations] {
	if info.ReadOnly == nil && info.Destructive == nil && info.Idempotent == nil && info.OpenWorld == nil {
		return wit.None[plugport_plugin_tools.ToolAnnotations]()
	}
	return wit.Some(plugport_plugin_tools.ToolAnnotations{
		ReadOnly: flagOf(info.ReadOnly), Destructive: flagOf(info.Destructive),
		Idempotent: flagOf(info.Idempotent), OpenWorld: flagOf(info.OpenWorld),
	})
}

func flagOf(flag *bool) wit.Option[bool] {
	if flag == nil {
		return wit.None[bool]()
	}
	return wit.Some(*flag)
}

func templateOf(info ResourceTemplateInfo) plugport_plugin_resources.ResourceTemplate {
	return plugport_plugin_resources.ResourceTemplate{
		UriTemplate: valid(info.URITemplate), Name: valid(info.Name), Title: optional(info.Title),
		Description: optional(info.Description), MimeType: optional(info.MIMEType), Extra: extraOf(info.Extra),
	}
}

func promptOf(info PromptInfo) plugport_plugin_prompts.Prompt {
	converted := plugport_plugin_prompts.Prompt{
		Name: valid(info.Name), Title: optional(info.Title), Description: optional(info.Description), Extra: extraOf(info.Extra),
	}
	for _, argument := range info.Arguments {
		converted.Arguments = append(converted.Arguments, plugport_plugin_prompts.PromptArgument{
			Name: valid(argument.Name), Title: optional(argument.Title), Description: optional(argument.Description),
			Required: argument.Required,
		})
	}
	return converted
}

func exportGetPrompt(call handle, name string, args exported_prompts.Pairs) wit.Result[plugport_plugin_prompts.PromptResult, plugport_plugin_types.Error] {
	defer call.Drop()
	result, err := getPrompt(&Call{host: call}, name, textsOf(args))
	if err != nil {
		return wit.Err[plugport_plugin_prompts.PromptResult](errorOf(err))
	}
	converted := plugport_plugin_prompts.PromptResult{Description: optional(result.Description), Extra: extraOf(result.Extra)}
	for _, message := range result.Messages {
		converted.Messages = append(converted.Messages, plugport_plugin_prompts.PromptMessage{
			Role: roleOf(message.Role), Content: contentOf(message.Content),
		})
	}
	return wit.Ok[plugport_plugin_prompts.PromptResult, plugport_plugin_types.Error](converted)
}

func exportComplete(call handle, target plugport_plugin_completions.Target, argument, value string, context exported_completions.Pairs) exported_completions.Completed {
	defer call.Drop()
	template, name := target.Tag() == plugport_plugin_completions.TargetResourceUri, ""
	if template {
		name = target.ResourceUri()
	} else {
		name = target.Prompt()
	}
	made, err := complete(&Call{host: call}, template, name, argument, value, textsOf(context))
	if err != nil {
		return wit.Err[plugport_plugin_completions.Completion](errorOf(err))
	}
	converted := plugport_plugin_completions.Completion{HasMore: made.HasMore}
	for _, value := range made.Values {
		converted.Values = append(converted.Values, valid(value))
	}
	if made.Total > 0 {
		converted.Total = wit.Some(uint32(made.Total))
	}
	return wit.Ok[plugport_plugin_completions.Completion, plugport_plugin_types.Error](converted)
}

func matchedOf(template exported_resources.Matched) matchedTemplate {
	if template.IsNone() {
		return matchedTemplate{}
	}
	matched := template.Some()
	return matchedTemplate{matched.UriTemplate, textsOf(matched.Variables)}
}

func textsOf(pairs []wit.Tuple2[string, string]) map[string]string {
	texts := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		texts[pair.F0] = pair.F1
	}
	return texts
}
