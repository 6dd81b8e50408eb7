//! Syncs of one file beside each other.

use std::thread;
use std::time::Duration;

use parking_lot::Condvar;

use super::*;
use crate::OsFileSystem;

/// How long the failing sync waits for one beside it.
const TOGETHER: Duration = Duration::from_millis(200);

/// Linux tells a failed write to one fsync of a descriptor: the first gets the error, here as late as it may, the
/// others succeed.
#[derive(Default)]
struct FailsOnce {
    syncs: Mutex<usize>,
    changed: Condvar,
}

impl File for FailsOnce {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut syncs = self.syncs.lock();
        *syncs += 1;
        self.changed.notify_all();
        if *syncs > 1 {
            return Ok(());
        }
        self.changed.wait_while_for(&mut syncs, |syncs| *syncs == 1, TOGETHER);
        drop(syncs);
        thread::sleep(TOGETHER / 10); // the other one is back before this one has told anybody
        Err(Errno::IO.into())
    }

    fn with_fd(&self, _: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        Ok(())
    }
}

// No flush counts as durable what a sync beside it has failed to write
#[test]
fn sync_that_waits_for_a_failing_sync_fails_too() {
    let descriptors = Descriptors::new(4, 4);
    let system = KeptFileSystem::new(Arc::new(OsFileSystem), Arc::clone(&descriptors));
    let inner = Arc::new(FailsOnce::default());
    let place = descriptors.take_place().unwrap();
    let file = KeptFile::of(&system, Path::new("a.log"), Arc::clone(&inner) as Arc<dyn File>, place);
    file.write_all_at(b"lost", 0).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| file.sync_for_closing());
        let mut syncs = inner.syncs.lock();
        inner.changed.wait_while(&mut syncs, |syncs| *syncs == 0);
        drop(syncs);
        assert_eq!(file.sync_data().unwrap_err().raw_os_error(), Some(5));
    });
    assert_eq!(file.write_all_at(b"more", 4).unwrap_err().raw_os_error(), Some(5));
}
