//! `InitProducerId` of a producer that is only idempotent: always a new id with epoch 0, whatever id and epoch it names, as Kafka
//! does.

use super::Outcome;
use crate::broker::Broker;
use crate::wire::{InitProducerIdRequest, WireError, encode_init_producer_id_response};

const FIRST_EPOCH: i16 = 0;

/// Serves one body. The control plane's are producers with a transactional id, requests that are to be refused, and those that find
/// no id left.
pub fn handle(broker: &Broker, version: i16, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, WireError> {
    let request = InitProducerIdRequest::decode(version, body)?;
    if request.transactional_id.is_some() || request.is_half() {
        return Ok(Outcome::ToControl);
    }
    let Some(producer_id) = broker.producer_ids.take(&broker.events) else {
        return Ok(Outcome::ToControl);
    };
    encode_init_producer_id_response(out, version, Ok((producer_id, FIRST_EPOCH)));
    Ok(Outcome::Answered)
}
