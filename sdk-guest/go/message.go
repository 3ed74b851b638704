package plugport

import "encoding/json"

// Role says who speaks.
type Role string

// Those who speak in a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is what the user or the model said.
type Message struct {
	Role    Role   `json:"role"`
	Content Blocks `json:"content"`
}

// UserSays is a message of the user.
func UserSays(blocks ...Block) Message { return Message{Role: User, Content: blocks} }

// AssistantSays is a message of the model.
func AssistantSays(blocks ...Block) Message { return Message{Role: Assistant, Content: blocks} }

// Block is a piece of a message to or from a model, as MCP writes it. Data is bytes, not base64.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Data     []byte `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	// ID, Name and Input are those of a tool that the model wants to have called.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// ToolUseID, Content and IsError are those of what came of calling it.
	ToolUseID string  `json:"toolUseId,omitempty"`
	Content   []Block `json:"content,omitempty"`
	IsError   bool    `json:"isError,omitempty"`
}

// TextBlock is text.
func TextBlock(text string) Block { return Block{Type: "text", Text: text} }

// ImageBlock is a picture: its bytes and its type, such as image/png.
func ImageBlock(data []byte, mimeType string) Block {
	return Block{Type: "image", Data: data, MIMEType: mimeType}
}

// AudioBlock is sound: its bytes and its type, such as audio/wav.
func AudioBlock(data []byte, mimeType string) Block {
	return Block{Type: "audio", Data: data, MIMEType: mimeType}
}

// ToolResultBlock is the result of a tool call that the model requested.
func ToolResultBlock(use Block, text string) Block {
	return Block{Type: "tool_result", ToolUseID: use.ID, Content: []Block{TextBlock(text)}}
}

// ToolErrorBlock is the error of a tool call that the model requested.
func ToolErrorBlock(use Block, text string) Block {
	block := ToolResultBlock(use, text)
	block.IsError = true
	return block
}

// MarshalJSON writes the text of a text even when it is empty, and nothing else that is.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.Type == "text" {
		return json.Marshal(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{b.Type, b.Text})
	}
	type plain Block
	return json.Marshal(plain(b))
}

// Blocks are the pieces of a message.
type Blocks []Block

// MarshalJSON writes one piece without a list, since clients of older revisions know no lists.
func (b Blocks) MarshalJSON() ([]byte, error) {
	if len(b) == 1 {
		return json.Marshal(b[0])
	}
	return json.Marshal(append([]Block{}, b...))
}

// UnmarshalJSON reads one piece or a list of them.
func (b *Blocks) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]Block)(b))
	}
	var block Block
	if err := json.Unmarshal(text, &block); err != nil {
		return err
	}
	*b = Blocks{block}
	return nil
}
