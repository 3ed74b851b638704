package plugport

import "slices"

// Request is what is served, as middleware sees it.
type Request struct {
	// Method is tools/call, resources/read or prompts/get.
	Method string
	// Name is the name of the tool or prompt, or the URI of the resource.
	Name string
	// Arguments is the JSON object that a tool is called with, before defaults are filled in.
	Arguments string
	// Values are the arguments of a prompt, or the variables of a URI.
	Values map[string]string
}

// Handler serves a request: its result is a [ToolResult], []Contents or a [PromptResult]. Middleware may also return
// what a function of the author may return.
type Handler func(call *Call, request Request) (any, error)

// Use puts middleware around every tool, resource and prompt. The first one is the outermost.
func Use(middleware func(next Handler) Handler) {
	registered.middleware = append(registered.middleware, middleware)
}

// serve calls the handler through the middleware.
func serve(call *Call, request Request, handler Handler) (any, error) {
	for _, around := range slices.Backward(registered.middleware) {
		handler = around(handler)
	}
	return handler(call, request)
}
