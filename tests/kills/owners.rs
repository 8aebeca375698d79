//! Two dispatchers on one board, of which one is held up or dies.
