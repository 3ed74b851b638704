package plugport

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// Option sets a field of a tool, a resource, a template or a prompt.
type Option struct {
	name  string
	suits entity
	apply func(*about)
}

// entity is what can be registered, as a set.
type entity uint8

const (
	aTool entity = 1 << iota
	aResource
	aTemplate
	aPrompt
	anything = aTool | aResource | aTemplate | aPrompt
)

func (e entity) String() string {
	return map[entity]string{aTool: "tool", aResource: "resource", aTemplate: "template", aPrompt: "prompt"}[e]
}

// about has the fields that options set.
type about struct {
	title, mimeType                              string
	readOnly, destructive, idempotent, openWorld *bool
	input, output                                string
	when                                         func() bool
	list                                         func() ([]ResourceInfo, error)
	extra                                        map[string]any
}

// Title is a name for people.
func Title(title string) Option {
	return Option{"Title", anything, func(a *about) { a.title = title }}
}

// Extra adds further MCP fields, such as icons or _meta.
func Extra(fields map[string]any) Option {
	return Option{"Extra", anything, func(a *about) { a.extra = fields }}
}

// When tells whether there is such a tool or prompt at this moment. See [Call.ToolsChanged].
func When(listed func() bool) Option {
	return Option{"When", aTool | aPrompt, func(a *about) { a.when = listed }}
}

// ReadOnly says that the tool changes nothing; ReadOnly(false) that it does. Without the option, clients get no hint.
func ReadOnly(is ...bool) Option {
	return Option{"ReadOnly", aTool, func(a *about) { a.readOnly = said(is) }}
}

// Destructive says that the tool may destroy something.
func Destructive(is ...bool) Option {
	return Option{"Destructive", aTool, func(a *about) { a.destructive = said(is) }}
}

// Idempotent says that calling the tool again with the same arguments changes nothing more.
func Idempotent(is ...bool) Option {
	return Option{"Idempotent", aTool, func(a *about) { a.idempotent = said(is) }}
}

// OpenWorld says that the tool reaches beyond the plugin, to the network for example.
func OpenWorld(is ...bool) Option {
	return Option{"OpenWorld", aTool, func(a *about) { a.openWorld = said(is) }}
}

// InputSchema is a JSON Schema of your own for what the tool takes. It goes out byte for byte.
func InputSchema(schema string) Option {
	return Option{"InputSchema", aTool, func(a *about) { a.input = schema }}
}

// OutputSchema is a JSON Schema of your own for the tool's structured content. It goes out byte for byte.
func OutputSchema(schema string) Option {
	return Option{"OutputSchema", aTool, func(a *about) { a.output = schema }}
}

// MIMEType is the type of a resource's content. Without it the type follows from the function's return type.
func MIMEType(mimeType string) Option {
	return Option{"MIMEType", aResource | aTemplate, func(a *about) { a.mimeType = mimeType }}
}

// List tells clients of single resources of a template, as they are at that moment.
func List(list func() ([]ResourceInfo, error)) Option {
	return Option{"List", aTemplate, func(a *about) { a.list = list }}
}

func said(is []bool) *bool {
	value := len(is) == 0 || is[0]
	return &value
}

// entry has the fields that all registered items share.
type entry struct {
	entity            entity
	name, description string
	options           []Option
}

// about applies the options. It runs only for items that are listed or called.
func (e *entry) about() about {
	var all about
	for _, option := range e.options {
		if option.apply != nil {
			option.apply(&all)
		}
	}
	return all
}

func (e *entry) isListed() bool {
	when := e.about().when
	return when == nil || when()
}

// problems are mistakes of the author that no compiler finds.
func (e *entry) problems() []string {
	var found []string
	complain := func(format string, args ...any) {
		found = append(found, fmt.Sprintf("the %s `%s` ", e.entity, e.name)+fmt.Sprintf(format, args...))
	}
	if e.name == "" {
		complain("has no name; give it one")
	}
	if strings.TrimSpace(e.description) == "" {
		complain("has no description; say in a sentence what it is for")
	}
	for _, option := range e.options {
		if option.suits&e.entity == 0 {
			complain("cannot have the option %s; take it away", option.name)
		}
	}
	all := e.about()
	for _, text := range [...]string{all.input, all.output} {
		if text != "" && !json.Valid([]byte(text)) {
			complain("has a schema that is not JSON; mend InputSchema or OutputSchema")
		}
	}
	if _, err := extraText(all.extra); err != nil {
		complain("has an Extra that cannot be JSON: %s", err)
	}
	return found
}

func extraText(fields map[string]any) (string, error) {
	if len(fields) == 0 {
		return "", nil
	}
	text, err := schema.Marshal(fields)
	return string(text), err
}
