//! Arguments of four sizes, and their key by two ways: ours as generated code has it, and RFC 8785 by `serde_jcs`
//! with SHA-256.

use anyhow::Result;
use idem_runtime::__private::Arguments;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Arguments whose key can be derived by both ways.
pub trait Keyed {
    /// The key as generated code derives it.
    ///
    /// # Errors
    /// When an argument has no canonical form.
    fn ours(&self) -> Result<[u8; 32]>;

    /// The digest of the canonical form that `serde_jcs` writes.
    ///
    /// # Errors
    /// When `serde_jcs` cannot write it.
    fn reference(&self) -> Result<[u8; 32]>;

    /// The size of the canonical form.
    ///
    /// # Errors
    /// When `serde_jcs` cannot write it.
    fn bytes(&self) -> Result<usize>;
}

/// Four plain arguments, as a tool has them: generated code hands them over sorted.
#[derive(Debug, Clone, Serialize)]
pub struct Plain {
    amount_cents: u64,
    currency: &'static str,
    order_id: String,
    reason: String,
}

impl Plain {
    /// About 100 bytes.
    pub fn hundred() -> Self {
        let reason = "damaged on arrival, twice".to_owned();
        Self { amount_cents: 4_900, currency: "EUR", order_id: "A-2025-0042".to_owned(), reason }
    }
}

/// Eight plain arguments, 166 bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Presorted {
    amount_cents: u64,
    currency: &'static str,
    customer: String,
    express: bool,
    invoice: u64,
    order_id: String,
    reason: String,
    units: u32,
}

impl Presorted {
    /// The arguments of a refund.
    pub fn refund() -> Self {
        Self {
            amount_cents: 4_900,
            currency: "EUR",
            customer: "cus_91b2e4f7".to_owned(),
            express: true,
            invoice: 20_251_130,
            order_id: "A-2025-11-0042".to_owned(),
            reason: "damaged on arrival".to_owned(),
            units: 3,
        }
    }
}

/// An order: records in records, fields not in order, every kind of value.
#[derive(Debug, Clone, Serialize)]
pub struct Order {
    number: String,
    currency: &'static str,
    customer: Customer,
    items: Vec<Item>,
    gift: bool,
    note: Option<String>,
    amount_cents: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Customer {
    name: String,
    id: u64,
    address: Address,
    email: String,
}

#[derive(Debug, Clone, Serialize)]
struct Address {
    street: String,
    zip: &'static str,
    city: &'static str,
    country: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct Item {
    title: String,
    sku: String,
    quantity: u32,
    price_cents: u64,
    weight_kg: f64,
    discount: Option<f64>,
    tags: Vec<&'static str>,
}

impl Order {
    /// An order of so many items.
    pub fn of(items: u32) -> Self {
        let item = |at: u32| Item {
            title: format!("Kettle \"{at}\", steel"),
            sku: format!("SKU-{at:05}"),
            quantity: at % 7 + 1,
            price_cents: 4_900 + u64::from(at),
            weight_kg: 1.25 + f64::from(at) / 8.0,
            discount: at.is_multiple_of(2).then_some(0.1),
            tags: vec!["kitchen", "fragile"],
        };
        Self {
            number: "A-2025-11-0042".to_owned(),
            currency: "EUR",
            customer: Customer {
                name: "Zoë Müller".to_owned(),
                id: 910_244,
                address: Address { street: "Lange Straße 7".to_owned(), zip: "10115", city: "Berlin", country: "DE" },
                email: "zoe@example.com".to_owned(),
            },
            items: (0..items).map(item).collect(),
            gift: false,
            note: Some("leave at the door".to_owned()),
            amount_cents: 1_234_500,
        }
    }

    /// About 1 KB.
    pub fn thousand() -> Self {
        Self::of(5)
    }

    /// About 10 KB.
    pub fn ten_thousand() -> Self {
        Self::of(67)
    }
}

fn reference(value: &impl Serialize) -> Result<[u8; 32]> {
    Ok(Sha256::digest(serde_jcs::to_vec(value)?).into())
}

fn bytes(value: &impl Serialize) -> Result<usize> {
    Ok(serde_jcs::to_vec(value)?.len())
}

impl Keyed for Plain {
    fn ours(&self) -> Result<[u8; 32]> {
        let mut arguments = Arguments::new();
        arguments.effect("amount_cents", &self.amount_cents);
        arguments.effect("currency", &self.currency);
        arguments.effect("order_id", &self.order_id);
        arguments.effect("reason", &self.reason);
        Ok(arguments.finish()?.fingerprint(None))
    }

    fn reference(&self) -> Result<[u8; 32]> {
        reference(self)
    }

    fn bytes(&self) -> Result<usize> {
        bytes(self)
    }
}

impl Keyed for Presorted {
    fn ours(&self) -> Result<[u8; 32]> {
        let mut arguments = Arguments::new();
        arguments.effect("amount_cents", &self.amount_cents);
        arguments.effect("currency", &self.currency);
        arguments.effect("customer", &self.customer);
        arguments.effect("express", &self.express);
        arguments.effect("invoice", &self.invoice);
        arguments.effect("order_id", &self.order_id);
        arguments.effect("reason", &self.reason);
        arguments.effect("units", &self.units);
        Ok(arguments.finish()?.fingerprint(None))
    }

    fn reference(&self) -> Result<[u8; 32]> {
        reference(self)
    }

    fn bytes(&self) -> Result<usize> {
        bytes(self)
    }
}

impl Keyed for Order {
    fn ours(&self) -> Result<[u8; 32]> {
        let mut arguments = Arguments::new();
        arguments.effect("order", self);
        Ok(arguments.finish()?.fingerprint(None))
    }

    fn reference(&self) -> Result<[u8; 32]> {
        #[derive(Serialize)]
        struct Wrapped<'a> {
            order: &'a Order,
        }
        reference(&Wrapped { order: self })
    }

    fn bytes(&self) -> Result<usize> {
        bytes(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_sizes_that_figures_are_given_for() {
        let sizes = [
            (Plain::hundred().bytes(), 100),
            (Presorted::refund().bytes(), 166),
            (Order::thousand().bytes(), 1_000),
            (Order::ten_thousand().bytes(), 10_000),
        ];
        for (bytes, wanted) in sizes {
            let bytes = bytes.expect("a canonical form");
            assert!(bytes.abs_diff(wanted) * 50 <= wanted, "{bytes} B instead of about {wanted} B");
        }
    }
}
