// Package testhost replaces the host in tests. It lies below both the SDK and its package of fakes, so that
// neither has to show the other's authors what only they need.
package testhost

import "slices"

// Client is a client with scripted responses. Texts are JSON where the WIT says so.
type Client interface {
	Client() Info
	Principal() string
	Meta() string
	Cancelled() bool
	Log(level int, logger, data string)
	Progress(done, total float64, message string)
	Detach(status string) bool
	// Answer gives the result of a client request of this MCP method.
	Answer(key, method, params string) (string, error)
	// Changed hears what else than the call was changed.
	Changed(listing int, uri string)
}

// Info is what a client says of itself.
type Info struct {
	Name, Version, Protocol      string
	Sampling, Elicitation, Roots bool
	Extensions                   []string
}

// Supports tells whether the client declared this extension, such as io.modelcontextprotocol/ui.
func (i Info) Supports(extension string) bool { return slices.Contains(i.Extensions, extension) }

// SDK is what the SDK does for tests, set by it where there is no host. The values are of its own types.
var SDK struct {
	Call      func(Client) any
	ListTools func() (any, error)
	CallTool  func(call any, name, args string) (any, error)
	// StructuredText is the JSON of a result's structured content; empty if there is none.
	StructuredText func(value any) (string, error)
	ListResources  func() (any, error)
	ListTemplates  func() (any, error)
	ReadResource   func(call any, uri, template string, variables map[string]string) (any, error)
	ListPrompts    func() (any, error)
	GetPrompt      func(call any, name string, args map[string]string) (any, error)
	Complete       func(call any, template bool, target, argument, value string, context map[string]string) (any, error)
}
