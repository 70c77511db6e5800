//! The case `tool_set` of src/tests/tool_set.rs; `IDEM_BLESS=1` writes it anew.

fn set() {
    facade::idem::ToolSet::new([
        send_refund_entry(bank, &limits),
        list_orders_entry(),
        Billing::move_entry(billing.clone()),
    ])
}
