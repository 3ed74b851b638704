package plugport

import "reflect"

// PromptInfo is what clients are told of a prompt.
type PromptInfo struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	Extra                    map[string]any
}

// PromptArgument is what clients are told of an argument of a prompt.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    Role
	Content Content
}

// PromptResult is what a prompt is made of, for those who have more to say than its messages.
type PromptResult struct {
	Description string
	Messages    []PromptMessage
	Extra       map[string]any
}

// UserMessage is a message of the user: a text.
func UserMessage(text string) PromptMessage { return PromptMessage{User, Text(text)} }

// AssistantMessage is a message of the model: a text.
func AssistantMessage(text string) PromptMessage { return PromptMessage{Assistant, Text(text)} }

type prompt struct {
	entry
	takes func() reflect.Type
	get   func(call *Call, args map[string]string) (any, error)
}

// Returned is what a prompt may return. A string and Content are what the user says.
type Returned interface {
	string | Content | PromptMessage | []PromptMessage | PromptResult
}

// Prompt registers a prompt: a text, or a conversation, that people choose by its name. The fields of the struct A are
// its arguments: texts for MCP, and strings, numbers, bools or types with UnmarshalText for the function.
func Prompt[A any, R Returned](name, description string, get func(call *Call, args A) (R, error), options ...Option) {
	registered.prompts = append(registered.prompts, &prompt{
		entry: entry{aPrompt, name, description, options},
		takes: reflect.TypeFor[A],
		get: func(call *Call, texts map[string]string) (any, error) {
			var args A
			if err := readTexts(texts, &args); err != nil {
				return nil, err
			}
			return get(call, args)
		},
	})
}

func listPrompts() (infos []PromptInfo, err error) {
	defer guard(nil, "listing the prompts", &err)
	var names, found []string
	arguments := map[string][]string{}
	for _, prompt := range registered.prompts {
		names = append(names, prompt.name)
		found = append(found, prompt.problems()...)
		info, err := prompt.describe()
		if err != nil {
			found = append(found, "the prompt `"+prompt.name+"` cannot be described: "+err.Error())
		}
		for _, argument := range info.Arguments {
			arguments[info.Name] = append(arguments[info.Name], argument.Name)
		}
		if prompt.isListed() {
			infos = append(infos, info)
		}
	}
	found = append(found, completerProblems(false, arguments)...)
	return infos, mistakes("prompt", names, found)
}

func (p *prompt) describe() (PromptInfo, error) {
	all := p.about()
	info := PromptInfo{Name: p.name, Title: all.title, Description: p.description, Extra: all.extra}
	fields, err := textFields(p.takes())
	for _, field := range fields {
		info.Arguments = append(info.Arguments, PromptArgument{
			Name:        field.Name,
			Title:       field.Tag.Get("title"),
			Description: field.Tag.Get("desc"),
			Required:    !field.Optional(),
		})
	}
	return info, err
}

func getPrompt(call *Call, name string, args map[string]string) (result PromptResult, err error) {
	defer guard(call, "making the prompt `"+name+"`", &err)
	for _, prompt := range registered.prompts {
		if prompt.name != name || !prompt.isListed() {
			continue
		}
		return prompt.serve(call, args)
	}
	return PromptResult{}, Errorf(NotFound, "there is no prompt `%s`", name)
}

func (p *prompt) serve(call *Call, args map[string]string) (PromptResult, error) {
	request := Request{Method: "prompts/get", Name: p.name, Values: args}
	made, err := serve(call, request, func(call *Call, request Request) (any, error) {
		made, err := p.get(call, request.Values)
		if err != nil {
			return nil, err
		}
		return toPrompt(made)
	})
	if err != nil {
		return PromptResult{}, toError(err)
	}
	return toPrompt(made)
}

func toPrompt(made any) (PromptResult, error) {
	switch made := made.(type) {
	case string:
		return PromptResult{Messages: []PromptMessage{UserMessage(made)}}, nil
	case Content:
		return PromptResult{Messages: []PromptMessage{{User, made}}}, nil
	case PromptMessage:
		return PromptResult{Messages: []PromptMessage{made}}, nil
	case []PromptMessage:
		return PromptResult{Messages: made}, nil
	case PromptResult:
		return made, nil
	}
	return PromptResult{}, Errorf(Internal, "a prompt cannot be made of a value of type %T", made)
}
