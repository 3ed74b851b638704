//go:build !wasip1

package plugport

import "github.com/plugport/plugport/sdk-guest/go/internal/testhost"

// Outside of a component there is no host: plugporttest makes the calls, with the functions here.

type handle struct{}

var errNoHost = Errorf(Internal, "there is no host here; in a test, take the call from plugporttest")

func hostClient(handle) ClientInfo                                         { return ClientInfo{} }
func hostPrincipal(handle) string                                          { return "" }
func hostMeta(handle) string                                               { return "" }
func hostCancelled(handle) bool                                            { return false }
func hostLog(handle, Level, string, string)                                {}
func hostProgress(handle, float64, float64, string)                        {}
func hostDetach(handle, string) bool                                       { return false }
func hostChanged(int, string)                                              {}
func hostSample(handle, string, string) (string, error)                    { return "", errNoHost }
func hostElicit(handle, string, string) (string, error)                    { return "", errNoHost }
func hostRoots(handle, string) ([]Root, error)                             { return nil, errNoHost }
func hostRequestInputs(handle, []inputRequest) (map[string]outcome, error) { return nil, errNoHost }

func init() {
	sdk := &testhost.SDK
	sdk.Call = func(client testhost.Client) any { return &Call{testClient: client} }
	sdk.ListTools = func() (any, error) { return listTools() }
	sdk.ListResources = func() (any, error) { return listResources() }
	sdk.ListTemplates = func() (any, error) { return listTemplates() }
	sdk.ListPrompts = func() (any, error) { return listPrompts() }
	sdk.CallTool = func(call any, name, args string) (any, error) { return callTool(call.(*Call), name, args) }
	sdk.StructuredText = structuredText
	sdk.ReadResource = func(call any, uri, template string, variables map[string]string) (any, error) {
		return readResource(call.(*Call), uri, matchedTemplate{template, variables})
	}
	sdk.GetPrompt = func(call any, name string, args map[string]string) (any, error) {
		return getPrompt(call.(*Call), name, args)
	}
	sdk.Complete = func(call any, template bool, target, argument, value string, context map[string]string) (any, error) {
		return complete(call.(*Call), template, target, argument, value, context)
	}
}
