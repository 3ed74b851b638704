//go:build wasip1

package plugport

import (
	"strings"

	"github.com/plugport/plugport/sdk-guest/go/internal/bindings/plugport_plugin_types"
	wit "github.com/plugport/plugport/sdk-guest/go/internal/wit/types"
)

// valid is a text as the component model wants it: a byte that is no UTF-8 would be a trap.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// optional is a text that is not there when it is empty.
func optional(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(valid(text))
}

// extraOf is further fields as JSON. Fields that cannot be JSON are an error when the plugin is listed, and omitted
// otherwise.
func extraOf(fields map[string]any) wit.Option[string] {
	text, _ := extraText(fields)
	return optional(text)
}

func roleOf(role Role) uint8 {
	if role == Assistant {
		return plugport_plugin_types.RoleAssistant
	}
	return plugport_plugin_types.RoleUser
}

func contentsOf(all []Content) []plugport_plugin_types.Content {
	converted := make([]plugport_plugin_types.Content, 0, len(all))
	for _, content := range all {
		converted = append(converted, contentOf(content))
	}
	return converted
}

func contentOf(content Content) plugport_plugin_types.Content {
	return plugport_plugin_types.Content{
		Data:        contentDataOf(content),
		Annotations: annotationsOf(content),
		Extra:       extraOf(content.extra),
	}
}

func contentDataOf(content Content) plugport_plugin_types.ContentData {
	media := plugport_plugin_types.Media{Data: content.media, MimeType: valid(content.mimeType)}
	switch content.form {
	case imageForm:
		return plugport_plugin_types.MakeContentDataImage(media)
	case audioForm:
		return plugport_plugin_types.MakeContentDataAudio(media)
	case resourceForm:
		resource := content.resource
		finish(&resource, resource.URI, "")
		return plugport_plugin_types.MakeContentDataEmbedded(resourceOf(resource))
	case linkForm:
		return plugport_plugin_types.MakeContentDataLink(infoOf(content.link))
	}
	return plugport_plugin_types.MakeContentDataText(valid(content.text))
}

func annotationsOf(content Content) wit.Option[plugport_plugin_types.Annotations] {
	if content.audience == nil && content.priority == nil && content.lastModified == "" {
		return wit.None[plugport_plugin_types.Annotations]()
	}
	annotations := plugport_plugin_types.Annotations{LastModified: optional(content.lastModified)}
	for _, role := range content.audience {
		annotations.Audience = append(annotations.Audience, roleOf(role))
	}
	if content.priority != nil {
		annotations.Priority = wit.Some(*content.priority)
	}
	return wit.Some(annotations)
}

func resourceOf(contents Contents) plugport_plugin_types.ResourceContents {
	data := plugport_plugin_types.MakeResourceDataText(valid(contents.Text))
	if contents.Blob != nil {
		data = plugport_plugin_types.MakeResourceDataBlob(contents.Blob)
	}
	return plugport_plugin_types.ResourceContents{
		Uri: valid(contents.URI), MimeType: optional(contents.MIMEType), Data: data, Extra: extraOf(contents.Extra),
	}
}

func infoOf(info ResourceInfo) plugport_plugin_types.ResourceDescriptor {
	return plugport_plugin_types.ResourceDescriptor{
		Uri: valid(info.URI), Name: valid(info.Name), Title: optional(info.Title),
		Description: optional(info.Description), MimeType: optional(info.MIMEType), Extra: extraOf(info.Extra),
	}
}

func errorOf(err error) plugport_plugin_types.Error {
	own := toError(err)
	text := valid(own.Message)
	switch own.Kind {
	case NotFound:
		return plugport_plugin_types.MakeErrorNotFound(text)
	case InvalidParams:
		return plugport_plugin_types.MakeErrorInvalidParams(text)
	case MissingCapability:
		return plugport_plugin_types.MakeErrorMissingCapability(text)
	case Denied:
		return plugport_plugin_types.MakeErrorDenied(text)
	case OverBudget:
		return plugport_plugin_types.MakeErrorOverBudget(text)
	case TimedOut:
		return plugport_plugin_types.MakeErrorTimedOut()
	case Cancelled:
		return plugport_plugin_types.MakeErrorCancelled()
	case Rejected:
		return plugport_plugin_types.MakeErrorRejected(text)
	case RPC:
		rpc := plugport_plugin_types.RpcError{Code: own.Code, Message: text, Data: optional(string(own.Data))}
		return plugport_plugin_types.MakeErrorRpc(rpc)
	}
	return plugport_plugin_types.MakeErrorInternal(text)
}

func fromError(err plugport_plugin_types.Error) *Error {
	switch err.Tag() {
	case plugport_plugin_types.ErrorNotFound:
		return &Error{Kind: NotFound, Message: err.NotFound()}
	case plugport_plugin_types.ErrorInvalidParams:
		return &Error{Kind: InvalidParams, Message: err.InvalidParams()}
	case plugport_plugin_types.ErrorMissingCapability:
		return &Error{Kind: MissingCapability, Message: err.MissingCapability()}
	case plugport_plugin_types.ErrorDenied:
		return &Error{Kind: Denied, Message: err.Denied()}
	case plugport_plugin_types.ErrorOverBudget:
		return &Error{Kind: OverBudget, Message: err.OverBudget()}
	case plugport_plugin_types.ErrorTimedOut:
		return &Error{Kind: TimedOut}
	case plugport_plugin_types.ErrorCancelled:
		return &Error{Kind: Cancelled}
	case plugport_plugin_types.ErrorRejected:
		return &Error{Kind: Rejected, Message: err.Rejected()}
	case plugport_plugin_types.ErrorRpc:
		rpc := err.Rpc()
		return &Error{Kind: RPC, Message: rpc.Message, Code: rpc.Code, Data: []byte(rpc.Data.SomeOr(""))}
	}
	return &Error{Kind: Internal, Message: err.Internal()}
}
