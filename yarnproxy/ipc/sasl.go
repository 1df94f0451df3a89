package ipc

// maxAuths bounds the ways to authenticate in one message; Hadoop knows five.
const maxAuths = 32

// ParseSASL reads RpcSaslProto, the message of frames whose call id is
// CallSASL. What it returns points into body.
func ParseSASL(body []byte) (SASL, error) {
	var s SASL
	state := false
	f := NewFields("SASL message", body)
	for f.Next() {
		switch f.Num {
		case 2:
			s.State, state = SASLState(f.Int32()), true
		case 3:
			s.Token = f.Bytes()
		case 4:
			if len(s.Auths) == maxAuths {
				f.Fail("too many ways to authenticate")
				break
			}
			s.Auths = append(s.Auths, f.auth())
		}
	}
	switch {
	case f.err != nil:
	case !state:
		f.Fail("without a state")
	case s.State < SASLSuccess || s.State > SASLWrap:
		f.Fail("an unknown state")
	}
	if f.err != nil {
		return SASL{}, f.err
	}
	return s, nil
}

// auth reads SaslAuth from the current field.
func (f *Fields) auth() SASLAuth {
	var a SASLAuth
	in := NewFields("SASL auth", f.Bytes())
	for in.Next() {
		switch in.Num {
		case 1:
			a.Method = in.Bytes()
		case 2:
			a.Mechanism = in.Bytes()
		case 3:
			a.Protocol = in.Bytes()
		case 4:
			a.ServerID = in.Bytes()
		case 5:
			a.Challenge = in.Bytes()
		}
	}
	f.Nested(in.err)
	return a
}
