//! Making and checking the token that makes an equal call a deliberate repeat.
//!
//! Must not know who presents it. A replay that was found by equal arguments under a new id carries one; a platform that
//! means the repeat presents it with that call. Text that a model writes never becomes one: a token is a value of its
//! own, and it fits one tenant, tool and set of arguments only.

use super::frame::{Digest, Frame, domain};
use crate::{
    call::RepeatToken,
    id::{OperationId, Tenant},
    secret::IdentityKey,
};

/// What a token is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) tool: &'a str,
    pub(crate) fingerprint: &'a Digest,
    pub(crate) key: Option<&'a IdentityKey>,
}

impl About<'_> {
    /// The token of a call that found `operation` by its arguments, and whose own id has the identity `call`.
    pub(crate) fn token(self, operation: OperationId, call: &Digest) -> RepeatToken {
        let mut frame = Frame::new(self.key, domain::REPEAT);
        frame.part(operation.as_bytes());
        frame.part(call);
        let call = half(&frame.digest());
        RepeatToken { call, proof: self.proof(&call) }
    }

    /// Whether the token was made for such a call.
    pub(crate) fn is_of(self, token: RepeatToken) -> bool {
        token.proof == self.proof(&token.call)
    }

    fn proof(self, call: &[u8; 16]) -> [u8; 16] {
        let mut frame = Frame::new(self.key, domain::REPEAT);
        frame.part(self.tenant.as_str().as_bytes());
        frame.part(self.tool.as_bytes());
        frame.part(self.fingerprint);
        frame.part(call);
        half(&frame.digest())
    }
}

fn half(digest: &Digest) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    half
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::NoToken;

    #[test]
    fn a_token_fits_one_tenant_tool_and_set_of_arguments() {
        let tenants = ["acme", "umbrella"].map(|name| Tenant::new(name).expect("a tenant"));
        let operation = OperationId::from_bytes([5; 20]);
        let about = About { tenant: &tenants[0], tool: "bank::send", fingerprint: &[1; 32], key: None };
        let token = about.token(operation, &[2; 32]);
        assert!(about.is_of(token));
        assert!(!About { tenant: &tenants[1], ..about }.is_of(token));
        assert!(!About { tool: "bank::take", ..about }.is_of(token));
        assert!(!About { fingerprint: &[9; 32], ..about }.is_of(token));
        let key = IdentityKey::new(*b"0123456789abcdef").expect("long enough");
        assert!(!About { key: Some(&key), ..about }.is_of(token));
        assert_ne!(token, about.token(operation, &[3; 32]));
        assert_eq!(token.to_string().parse(), Ok(token));
        assert_eq!("again_12".parse::<RepeatToken>(), Err(NoToken));
    }
}
