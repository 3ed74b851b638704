// Package plugporttest runs tools, resources and prompts in ordinary tests, without a host and without WebAssembly.
//
//	func TestHello(t *testing.T) {
//		client := plugporttest.New()
//		outcome := client.CallTool("hello", map[string]any{"name": "Bob"})
//		if outcome.Text() != "Hello, Bob!" {
//			t.Error(outcome.Text())
//		}
//	}
//
// What the plugin registers in its init functions is there in its tests as well. A client says nothing by itself: its
// answers are written down before. Arguments and structured results are validated against the tool's schemas, as the
// server does.
package plugporttest

import (
	"encoding/json"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/internal/hostdouble"
	"github.com/plugport/plugport/sdk-guest/go/internal/testhost"
)

// LogRecord is a message of the log. Data is what its JSON holds: a string, for a line.
type LogRecord struct {
	Level  plugport.Level
	Logger string
	Data   any
}

// ProgressRecord is a report of progress. The total is 0 when it was not said.
type ProgressRecord struct {
	Done, Total float64
	Message     string
}

// RecordedRequest is a request that the client got: sampling/createMessage, elicitation/create or roots/list.
type RecordedRequest struct {
	Key, Method string
	Params      map[string]any
}

// Client is a client that records logs, progress and requests, and has scripted responses. A client that has a
// response has the capability too. It stands in for the server as well: requests to other hosts, the store and the
// settings are the client's own, and empty at first.
type Client struct {
	fake *fake
	host *hostdouble.Host
}

// New is a client called test without capabilities.
func New() *Client {
	info := plugport.ClientInfo{Name: "test", Version: "0", Protocol: "2026-07-28"}
	host := hostdouble.New()
	return &Client{&fake{info: info, host: host, answers: map[string][]answer{}}, host}
}

// Principal lets the caller be authenticated.
func (c *Client) Principal(name string) *Client {
	c.fake.principal = name
	return c
}

// Meta lets the request have a _meta.
func (c *Client) Meta(meta map[string]any) *Client {
	text, err := json.Marshal(meta)
	if err != nil {
		panic("the _meta of a test must be JSON: " + err.Error())
	}
	c.fake.meta = string(text)
	return c
}

// HasExtensions lets the client declare these extensions of MCP.
func (c *Client) HasExtensions(names ...string) *Client {
	c.fake.info.Extensions = names
	return c
}

// Cancel lets the client lose interest, from now on.
func (c *Client) Cancel() { c.fake.cancelled = true }

// Denies lets the operator grant neither client requests nor the store; [Client.Store] is nil then.
func (c *Client) Denies() *Client {
	c.host.Deny()
	return c
}

// Call is a call by this client, for functions that are called directly.
func (c *Client) Call() *plugport.Call { return testhost.SDK.Call(c.fake).(*plugport.Call) }

// Logs is the log messages so far.
func (c *Client) Logs() []LogRecord { return c.fake.logs }

// Progress is the progress so far.
func (c *Client) Progress() []ProgressRecord { return c.fake.progress }

// Requests are the requests that the client got so far.
func (c *Client) Requests() []RecordedRequest { return c.fake.requests }

// Changes is the reported changes: tools, resources, prompts, or the URI of a resource.
func (c *Client) Changes() []string { return c.fake.changes }

// CallTool calls a tool through JSON, as the server does, which rejects arguments and results that do not fit the
// schemas.
func (c *Client) CallTool(name string, args any) *Outcome {
	var text, rejected string
	var err error
	c.Run(func() { text, rejected, err = validated(name, said(args)) })
	if err != nil {
		return &Outcome{Err: err}
	}
	if rejected != "" {
		return &Outcome{Result: toolError(rejected)}
	}
	var result plugport.ToolResult
	c.Run(func() {
		var made any
		if made, err = testhost.SDK.CallTool(c.Call(), name, text); err == nil {
			result, err = checkedResult(name, made.(plugport.ToolResult))
		}
	})
	if err != nil {
		return &Outcome{Err: err}
	}
	return &Outcome{Result: result}
}

// ReadResource reads a fixed resource by its URI, as the host does.
func (c *Client) ReadResource(uri string) ([]plugport.Contents, error) {
	return c.ReadTemplate("", uri, nil)
}

// ReadTemplate reads a URI as the host does when it comes from the template and has these values for its variables,
// decoded.
func (c *Client) ReadTemplate(template, uri string, variables map[string]string) ([]plugport.Contents, error) {
	return running[[]plugport.Contents](c, func() (any, error) {
		return testhost.SDK.ReadResource(c.Call(), uri, template, variables)
	})
}

// GetPrompt gets a prompt for these arguments, as the host does.
func (c *Client) GetPrompt(name string, args map[string]string) (plugport.PromptResult, error) {
	return running[plugport.PromptResult](c, func() (any, error) {
		return testhost.SDK.GetPrompt(c.Call(), name, args)
	})
}

// CompletePrompt completes an argument of a prompt; context has the others.
func (c *Client) CompletePrompt(prompt, argument, value string, context map[string]string) (plugport.Completion, error) {
	return running[plugport.Completion](c, func() (any, error) {
		return testhost.SDK.Complete(c.Call(), false, prompt, argument, value, context)
	})
}

// CompleteTemplate completes a variable of a resource template; context has the others.
func (c *Client) CompleteTemplate(template, variable, value string, context map[string]string) (plugport.Completion, error) {
	return running[plugport.Completion](c, func() (any, error) {
		return testhost.SDK.Complete(c.Call(), true, template, variable, value, context)
	})
}

// running runs what the SDK does for a client.
func running[T any](c *Client, job func() (any, error)) (made T, err error) {
	c.Run(func() {
		var any any
		any, err = job()
		made = any.(T)
	})
	return made, err
}

// Tools is what clients are told of the plugin's tools. The error is what the server would report at load; a plugin's
// tests should look at it once.
func Tools() ([]plugport.ToolInfo, error) {
	infos, err := testhost.SDK.ListTools()
	return infos.([]plugport.ToolInfo), err
}

// Resources is what clients are told of the plugin's resources.
func Resources() ([]plugport.ResourceInfo, error) {
	infos, err := testhost.SDK.ListResources()
	return infos.([]plugport.ResourceInfo), err
}

// ResourceTemplates is what clients are told of the plugin's templates.
func ResourceTemplates() ([]plugport.ResourceTemplateInfo, error) {
	infos, err := testhost.SDK.ListTemplates()
	return infos.([]plugport.ResourceTemplateInfo), err
}

// Prompts is what clients are told of the plugin's prompts.
func Prompts() ([]plugport.PromptInfo, error) {
	infos, err := testhost.SDK.ListPrompts()
	return infos.([]plugport.PromptInfo), err
}
