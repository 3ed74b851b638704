package plugport

import (
	"encoding/json"
	"fmt"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
	"github.com/plugport/plugport/sdk-guest/go/internal/testhost"
)

// Level says how much a line of the log matters.
type Level uint8

// The levels of MCP, which are those of syslog.
const (
	LevelDebug Level = iota
	LevelInfo
	LevelNotice
	LevelWarning
	LevelError
	LevelCritical
	LevelAlert
	LevelEmergency
)

// ClientInfo is a client's name and version, the MCP revision spoken with it, whether it has the capabilities sampling,
// elicitation and roots, and the names of the extensions that it declared.
type ClientInfo = testhost.Info

// Call is the request being served: its client, whether it was cancelled, its log and its progress.
//
// It ends with the function that got it.
type Call struct {
	host       handle
	testClient testhost.Client
	logger     string
	key        string
}

// Client is the client's name, version, capabilities and extensions.
func (c *Call) Client() ClientInfo {
	if c.testClient != nil {
		return c.testClient.Client()
	}
	return hostClient(c.host)
}

// Principal tells who makes the request; empty when the server does not authenticate its callers.
func (c *Call) Principal() string {
	if c.testClient != nil {
		return c.testClient.Principal()
	}
	return hostPrincipal(c.host)
}

// Meta is the request's _meta without the keys that MCP reserves; empty when there is none.
func (c *Call) Meta() map[string]any {
	text := ""
	if c.testClient != nil {
		text = c.testClient.Meta()
	} else {
		text = hostMeta(c.host)
	}
	meta := map[string]any{}
	if text != "" && json.Unmarshal([]byte(text), &meta) != nil {
		return map[string]any{}
	}
	return meta
}

// Cancelled tells whether the client no longer waits. A tool that takes long asks now and then and returns early.
func (c *Call) Cancelled() bool {
	if c.testClient != nil {
		return c.testClient.Cancelled()
	}
	return hostCancelled(c.host)
}

// Logger is the same call with a name for its log messages.
func (c *Call) Logger(name string) *Call {
	named := *c
	named.logger = name
	return &named
}

// Keyed is the same call with a key for the next client request, which clients of the revision 2026-07-28 see. Without
// one the host picks a key. A key may be used once in a call.
func (c *Call) Keyed(key string) *Call {
	keyed := *c
	keyed.key = key
	return &keyed
}

// Log sends any JSON to the client's log. What cannot be JSON is logged as the reason why not.
func (c *Call) Log(level Level, data any) {
	text, err := schema.JSON(data)
	if err != nil {
		text, _ = json.Marshal(err.Error())
	}
	if c.testClient != nil {
		c.testClient.Log(int(level), c.logger, string(text))
		return
	}
	hostLog(c.host, level, c.logger, string(text))
}

// Debug logs a line, made as fmt.Sprintf does.
func (c *Call) Debug(format string, args ...any) { c.line(LevelDebug, format, args) }

// Info logs a line, made as fmt.Sprintf does.
func (c *Call) Info(format string, args ...any) { c.line(LevelInfo, format, args) }

// Notice logs a line, made as fmt.Sprintf does.
func (c *Call) Notice(format string, args ...any) { c.line(LevelNotice, format, args) }

// Warning logs a line, made as fmt.Sprintf does.
func (c *Call) Warning(format string, args ...any) { c.line(LevelWarning, format, args) }

// Error logs a line, made as fmt.Sprintf does. The call goes on; to fail it, return an error.
func (c *Call) Error(format string, args ...any) { c.line(LevelError, format, args) }

// line takes a text without arguments as it is, so that a stray % in it does no harm.
func (c *Call) line(level Level, format string, args []any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	c.Log(level, format)
}

// Progress reports progress to the client: done of total, and a message. The total is 0 when it is not known,
// and the message may be empty. What is done must grow from one report to the next.
func (c *Call) Progress(done, total float64, message string) {
	if c.testClient != nil {
		c.testClient.Progress(done, total, message)
		return
	}
	hostProgress(c.host, done, total, message)
}

// Detach lets the client go on without waiting for this call, if it knows tasks: it gets the id of a task, and fetches
// the result later. It tells whether the call is a task now; if not, everything goes on as before. The status is for
// people and may be empty; the messages of Progress replace it.
func (c *Call) Detach(status string) bool {
	if c.testClient != nil {
		return c.testClient.Detach(status)
	}
	return hostDetach(c.host, status)
}
