#![allow(missing_docs, unused_variables, clippy::all, clippy::pedantic)]
use super::*;
use crate::error::*;
use crate::io::*;
use crate::record::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[derive(Clone)] pub struct LogContext { pub fs: Arc<dyn FileSystem>, pub clock: Arc<dyn Clock>, pub producers: ProducerStateConfig }
impl LogContext { pub fn system() -> Self { unimplemented!() } }

pub use super::config::LogConfig;
pub struct LoadArgs<'a>{pub recovery_point:i64,pub log_start_offset:i64,pub is_clean:bool,pub progress:Option<&'a super::log_loader::LoadProgress>}
pub struct Deletion; impl Deletion{pub fn segments(&self)->usize{0} pub fn run(self)->Result<()>{Ok(())}}
pub struct Log {
    c: Arc<LogConfig>,
    e: EpochCache,
}
#[derive(Debug, Clone)]
pub struct Appended {
    pub first_offset: i64,
    pub last_offset: i64,
    pub log_append_time_ms: i64,
    pub log_start_offset: i64,
    pub is_duplicate: bool,
    pub needs_flush: bool,
    pub rolled: bool,
}
pub enum AppendError {
    Rejected(Rejection),
    Failed(Error),
}
impl From<Error> for AppendError {
    fn from(e: Error) -> Self {
        Self::Failed(e)
    }
}
#[derive(Clone)]
pub struct FileSlice {
    pub file: Arc<dyn File>,
    pub position: u64,
    pub len: usize,
    pub base_offset: i64,
}
#[derive(Debug, Clone, Copy)]
pub struct AbortedTxn {
    pub producer_id: i64,
    pub first_offset: i64,
}
pub struct ReadPlan;
impl ReadPlan {
    pub fn resolve(self, m: usize, o: bool) -> Result<Option<FileSlice>> {
        unimplemented!()
    }
}
pub struct TimestampPlan;
impl TimestampPlan {
    pub fn resolve(self) -> Result<Option<(i64, i64, i32)>> {
        unimplemented!()
    }
}
pub struct FlushJob;
pub struct Flushed;
impl FlushJob {
    pub fn run(self) -> Result<Flushed> {
        unimplemented!()
    }
}
impl Log {
    pub fn append_as_leader(&mut self, b: &mut [u8], e: i32, o: Origin, n: i64) -> Result<Appended, AppendError> {
        unimplemented!()
    }
    pub fn log_end_offset(&self) -> i64 {
        0
    }
    pub fn log_start_offset(&self) -> i64 {
        0
    }
    pub fn recovery_point(&self) -> i64 {
        0
    }
    pub fn config(&self) -> &Arc<LogConfig> {
        &self.c
    }
    pub fn epochs(&self) -> &EpochCache {
        &self.e
    }
    pub fn last_stable_offset(&self, hw: i64) -> i64 {
        0
    }
    pub fn plan_read(&self, o: i64, u: i64) -> Result<ReadPlan> {
        unimplemented!()
    }
    pub fn aborted_transactions(&self, o: i64, u: i64) -> Result<Vec<AbortedTxn>> {
        unimplemented!()
    }
    pub fn plan_timestamp(&self, o: i64) -> TimestampPlan {
        unimplemented!()
    }
    pub fn plan_max_timestamp(&self) -> TimestampPlan {
        unimplemented!()
    }
    pub fn begin_flush(&mut self) -> Result<FlushJob> {
        unimplemented!()
    }
    pub fn complete_flush(&mut self, r: Result<Flushed>) -> Result<()> {
        unimplemented!()
    }
    pub fn advance_log_start_offset(&mut self, o: i64, h: i64) -> Result<()> {
        unimplemented!()
    }

 pub fn create(c:&LogContext,d:&Path,t:TopicPartition,g:Arc<LogConfig>)->Result<Self>{unimplemented!()}
 pub fn open(c:&LogContext,d:&Path,t:TopicPartition,g:Arc<LogConfig>,a:&LoadArgs<'_>)->Result<Self>{unimplemented!()}
 pub fn rename_and_close(&mut self,p:&Path)->Result<()>{unimplemented!()} pub fn set_config(&mut self,c:Arc<LogConfig>){}
 pub fn close(&mut self)->Result<()>{unimplemented!()} pub fn delete_old_segments(&mut self,n:i64,h:i64)->Result<Deletion>{unimplemented!()}
 pub fn is_flush_due(&self,n:i64)->bool{false} pub fn size_bytes(&self)->u64{0} pub fn expire_producers(&mut self,n:i64)->usize{0} pub fn first_segment_base_offset(&self)->i64{0}
 pub fn producers(&self)->&ProducerState{unimplemented!()}
}
