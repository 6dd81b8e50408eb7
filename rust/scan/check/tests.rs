//! Good directories give no fault; each of many planted ones is named.

mod planted;
mod tolerated;
mod world;
