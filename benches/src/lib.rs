//! Holds the room's name; its content stands beside.
