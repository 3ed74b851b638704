//go:build wasip1

package plugport

import (
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_changes"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_elicitation"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_inputs"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_request"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_roots"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_sampling"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_tasks"
	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_types"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// The host's functions, as in the WIT. They are separate functions, so that a plugin imports only those that it calls.

type handle = *plugport_plugin_request.Call

func hostClient(h handle) ClientInfo {
	info := h.Client()
	return ClientInfo{
		Name: info.Name, Version: info.Version, Protocol: info.Protocol,
		Sampling: info.Sampling, Elicitation: info.Elicitation, Roots: info.Roots,
		Extensions: info.Extensions,
	}
}

func hostPrincipal(h handle) string { return h.Principal().SomeOr("") }

func hostMeta(h handle) string { return h.Meta().SomeOr("") }

func hostCancelled(h handle) bool { return h.Cancelled() }

func hostLog(h handle, level Level, logger, data string) {
	h.Log(uint8(level), optional(logger), valid(data))
}

func hostProgress(h handle, done, total float64, message string) {
	of := wit.None[float64]()
	if total != 0 {
		of = wit.Some(total)
	}
	h.Progress(done, of, optional(message))
}

func hostDetach(h handle, status string) bool {
	return plugport_plugin_tasks.Detach(h, optional(status))
}

func hostChanged(listing int, uri string) {
	if listing == oneResource {
		plugport_plugin_changes.ResourceUpdated(valid(uri))
		return
	}
	plugport_plugin_changes.ListChanged(uint8(listing))
}

func hostSample(h handle, key, params string) (string, error) {
	return answered(plugport_plugin_sampling.CreateMessage(h, optional(key), valid(params)))
}

func hostElicit(h handle, key, params string) (string, error) {
	return answered(plugport_plugin_elicitation.Elicit(h, optional(key), valid(params)))
}

func hostRoots(h handle, key string) ([]Root, error) {
	result := plugport_plugin_roots.ListRoots(h, optional(key))
	if result.IsErr() {
		return nil, fromError(result.Err())
	}
	roots := []Root{}
	for _, root := range result.Ok() {
		roots = append(roots, Root{URI: root.Uri, Name: root.Name.SomeOr("")})
	}
	return roots, nil
}

func hostRequestInputs(h handle, batch []inputRequest) (map[string]outcome, error) {
	var requests []plugport_plugin_inputs.InputRequest
	for _, request := range batch {
		body := plugport_plugin_inputs.MakeBodyListRoots()
		switch request.method {
		case methodSample:
			body = plugport_plugin_inputs.MakeBodyCreateMessage(valid(request.params))
		case methodElicit:
			body = plugport_plugin_inputs.MakeBodyElicit(valid(request.params))
		}
		requests = append(requests, plugport_plugin_inputs.InputRequest{Key: valid(request.key), Body: body})
	}
	result := plugport_plugin_inputs.RequestInputs(h, requests)
	if result.IsErr() {
		return nil, fromError(result.Err())
	}
	outcomes := map[string]outcome{}
	for _, response := range result.Ok() {
		text, err := answered(response.Outcome)
		outcomes[response.Key] = outcome{text, err}
	}
	return outcomes, nil
}

func answered(result wit.Result[string, plugport_plugin_types.Error]) (string, error) {
	if result.IsErr() {
		return "", fromError(result.Err())
	}
	return result.Ok(), nil
}
