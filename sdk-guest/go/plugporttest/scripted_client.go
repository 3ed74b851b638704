package plugporttest

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/internal/hostdouble"
)

// Samples lets the model respond with this text.
func (c *Client) Samples(text string) *Client {
	content := map[string]any{"type": "text", "text": text}
	return c.SamplesWith(map[string]any{"role": "assistant", "content": content, "model": "test", "stopReason": "endTurn"}, nil)
}

// SamplesWith lets sampling have this outcome: the result of sampling/createMessage, or an error.
func (c *Client) SamplesWith(result any, err error) *Client {
	c.fake.info.Sampling = true
	return c.will("sampling/createMessage", result, err)
}

// Accepts lets the person fill in the form like this: a struct or a map. A field that is nil is left empty.
func (c *Client) Accepts(content any) *Client {
	if fields, are := parsed(said(content)).(map[string]any); are {
		maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
		content = fields
	}
	return c.ElicitsWith(map[string]any{"action": "accept", "content": content}, nil)
}

// Visits lets the person go to a web page.
func (c *Client) Visits() *Client { return c.ElicitsWith(map[string]any{"action": "accept"}, nil) }

// Declines lets the person say no.
func (c *Client) Declines() *Client { return c.ElicitsWith(map[string]any{"action": "decline"}, nil) }

// Closes lets the person go away.
func (c *Client) Closes() *Client { return c.ElicitsWith(map[string]any{"action": "cancel"}, nil) }

// ElicitsWith lets elicitation have this outcome: the result of elicitation/create, or an error.
func (c *Client) ElicitsWith(result any, err error) *Client {
	c.fake.info.Elicitation = true
	return c.will("elicitation/create", result, err)
}

// HasRoots lets the user have these folders, for as often as they are asked for.
func (c *Client) HasRoots(roots ...plugport.Root) *Client {
	c.fake.info.Roots = true
	c.fake.answers["roots/list"] = nil
	return c.will("roots/list", map[string]any{"roots": append([]plugport.Root{}, roots...)}, nil)
}

func (c *Client) will(method string, result any, err error) *Client {
	text, wrong := json.Marshal(result)
	if wrong != nil {
		panic("the answers of a test must be JSON: " + wrong.Error())
	}
	c.fake.answers[method] = append(c.fake.answers[method], answer{string(text), err})
	return c
}

type answer struct {
	text string
	err  error
}

// fake is the client as the SDK sees it.
type fake struct {
	info            plugport.ClientInfo
	principal, meta string
	cancelled       bool
	logs            []LogRecord
	progress        []ProgressRecord
	requests        []RecordedRequest
	changes         []string
	answers         map[string][]answer
	host            *hostdouble.Host
}

func (f *fake) Client() plugport.ClientInfo { return f.info }
func (f *fake) Principal() string           { return f.principal }
func (f *fake) Meta() string                { return f.meta }
func (f *fake) Cancelled() bool             { return f.cancelled }

func (f *fake) Log(level int, logger, data string) {
	var value any
	if json.Unmarshal([]byte(data), &value) != nil {
		value = data
	}
	f.logs = append(f.logs, LogRecord{plugport.Level(level), logger, value})
}

func (f *fake) Progress(done, total float64, message string) {
	f.progress = append(f.progress, ProgressRecord{done, total, message})
}

// Detach does nothing: this client knows no tasks, so it waits.
func (f *fake) Detach(string) bool { return false }

func (f *fake) Changed(listing int, uri string) {
	if names := [...]string{"tools", "resources", "prompts"}; listing < len(names) {
		uri = names[listing]
	}
	f.changes = append(f.changes, uri)
}

func (f *fake) Answer(key, method, params string) (string, error) {
	request := RecordedRequest{Key: key, Method: method}
	if err := json.Unmarshal([]byte(params), &request.Params); err != nil {
		return "", fmt.Errorf("the params are no JSON object: %w", err)
	}
	f.requests = append(f.requests, request)
	capability, declared := f.capability(method)
	if f.host.Denies() {
		return "", plugport.Errorf(plugport.Denied, "this server does not grant `%s` to the plugin", capability)
	}
	if !declared {
		return "", plugport.Errorf(plugport.MissingCapability, "%s", capability)
	}
	answers := f.answers[method]
	if len(answers) == 0 {
		return "", plugport.Errorf(plugport.Internal, "the test has no more responses for %s", capability)
	}
	if method != "roots/list" {
		f.answers[method] = answers[1:]
	}
	sent, _ := parsed(params).(map[string]any)
	if why := formFault(sent["requestedSchema"], answers[0].text); why != "" {
		message := "the client's response cannot be used: " + why
		return "", &plugport.Error{Kind: plugport.RPC, Message: message, Code: -32603}
	}
	return answers[0].text, answers[0].err
}

func (f *fake) capability(method string) (string, bool) {
	switch method {
	case "sampling/createMessage":
		return "sampling", f.info.Sampling
	case "elicitation/create":
		return "elicitation", f.info.Elicitation
	}
	return "roots", f.info.Roots
}
