package schema

import "bytes"

// object is a JSON object whose members keep their order, which is the order in which the author declared them.
type object []member

type member struct {
	key   string
	value any
}

func (o *object) set(key string, value any) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

func (o object) get(key string) any {
	for _, member := range o {
		if member.key == key {
			return member.value
		}
	}
	return nil
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, member := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := plainly(member.key)
		if err != nil {
			return nil, err
		}
		value, err := plainly(member.value)
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
