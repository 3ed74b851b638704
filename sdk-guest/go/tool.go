package plugport

import (
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

type tool struct {
	entry
	takes, gives func() reflect.Type
	run          func(call *Call, args string) (ToolResult, error)
}

// ToolInfo is what clients are told of a tool. The schemas are JSON.
type ToolInfo struct {
	Name, Title, Description                     string
	InputSchema, OutputSchema                    string
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
	Extra                                        map[string]any
}

// Tool registers a tool. The fields of the struct A are its arguments; a model reads the description to decide when to
// call it. What it returns may be a string, [Content], []Content, a [ToolResult], struct{} for nothing, and anything
// else that can be JSON, which becomes structured content.
func Tool[A, R any](name, description string, run func(call *Call, args A) (R, error), options ...Option) {
	registered.tools = append(registered.tools, &tool{
		entry: entry{aTool, name, description, options},
		takes: reflect.TypeFor[A],
		gives: reflect.TypeFor[R],
		run: func(call *Call, text string) (ToolResult, error) {
			var args A
			if err := readArguments(text, &args); err != nil {
				return ToolResult{}, err
			}
			result, err := run(call, args)
			if err != nil {
				return ToolResult{}, err
			}
			return toResult(result)
		},
	})
}

func listTools() (infos []ToolInfo, err error) {
	defer guard(nil, "listing the tools", &err)
	var names, found []string
	for _, tool := range registered.tools {
		names = append(names, tool.name)
		found = append(found, tool.problems()...)
		info, err := tool.describe()
		if err != nil {
			found = append(found, "the tool `"+tool.name+"` cannot be described: "+err.Error())
		}
		if tool.isListed() {
			infos = append(infos, info)
		}
	}
	return infos, mistakes("tool", names, found)
}

func (t *tool) describe() (ToolInfo, error) {
	all := t.about()
	info := ToolInfo{
		Name: t.name, Title: all.title, Description: t.description, InputSchema: all.input, OutputSchema: all.output,
		ReadOnly: all.readOnly, Destructive: all.destructive, Idempotent: all.idempotent, OpenWorld: all.openWorld,
		Extra: all.extra,
	}
	var err error
	if info.InputSchema == "" {
		if info.InputSchema, err = schema.Input(t.takes()); err != nil {
			return info, err
		}
	}
	if t := t.takes(); t.Kind() == reflect.Struct {
		if err = checkDefaults(t); err != nil {
			return info, err
		}
	}
	if info.OutputSchema == "" && !isContent(t.gives()) {
		info.OutputSchema, err = schema.Output(t.gives())
	}
	return info, err
}

func callTool(call *Call, name, args string) (result ToolResult, err error) {
	defer guard(call, "serving the tool `"+name+"`", &err)
	for _, tool := range registered.tools {
		if tool.name == name && tool.isListed() {
			return tool.serve(call, args)
		}
	}
	return ToolResult{}, Errorf(NotFound, "there is no tool `%s`", name)
}

func (t *tool) serve(call *Call, args string) (ToolResult, error) {
	request := Request{Method: "tools/call", Name: t.name, Arguments: args}
	made, err := serve(call, request, func(call *Call, request Request) (any, error) {
		return t.run(call, request.Arguments)
	})
	if err != nil {
		return failed(err)
	}
	return toResult(made)
}
