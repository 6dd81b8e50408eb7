//! `InitProducerId` of a producer that is only idempotent: always a new id with epoch 0, whatever id and epoch the
//! request names, as in Kafka.

use super::MANY_BYTES;
use crate::broker::{Api, Request, Rest, Served, Size};
use crate::wire::{ApiTable, InitProducerIdRequest, WireError, encode_init_producer_id_response};

const FIRST_EPOCH: i16 = 0;

/// The API. The control plane serves producers with a transactional id, requests to refuse, and requests for which no
/// id is left.
pub struct InitProducerId;

impl Api for InitProducerId {
    fn key(&self) -> i16 {
        ApiTable::INIT_PRODUCER_ID
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        if asked.body.len() > MANY_BYTES {
            return Ok(Served::Control(None));
        }
        let request = InitProducerIdRequest::decode(asked.version, asked.body)?;
        if request.transactional_id.is_some() || request.is_half() {
            return Ok(Served::Control(None));
        }
        let broker = asked.broker;
        let Some(producer_id) = broker.producer_ids.take(&broker.events) else {
            return Ok(Served::Control(None));
        };
        encode_init_producer_id_response(out, asked.version, Ok((producer_id, FIRST_EPOCH)));
        Ok(Served::Answered(Rest::Nothing))
    }

    fn control_from(&self) -> Option<Size> {
        Some(Size::Small)
    }
}
