//! A background thread on another CPU that repeats a step, for measurements that need two threads.
//!
//! Unlike the workers of a [thread group](super::thread_group()), it is not timed, and goes on between the rounds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use crate::os::affinity::{AffinityError, pin};

/// Why a background thread could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackgroundThreadError {
    /// The thread could not be pinned to its CPU.
    Affinity(AffinityError),
    /// The kernel refused to start a thread.
    Refused(String),
}

messages! { BackgroundThreadError:
    BackgroundThreadError::Affinity(error) => ("{error}");
    BackgroundThreadError::Refused(answer) => ("no background thread: {answer}");
}

/// A thread pinned to a CPU, which runs until dropped.
#[derive(Debug)]
pub struct BackgroundThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundThread {
    /// Starts a thread on `cpu` that repeats `step` and never sleeps.
    ///
    /// # Errors
    /// If the thread cannot be started or pinned.
    pub fn start(
        cpu: usize,
        mut step: impl FnMut() + Send + 'static,
    ) -> Result<BackgroundThread, BackgroundThreadError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (tell, told) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("background".to_owned())
            .spawn(move || {
                let pinned = pin(cpu);
                let ready = pinned.as_ref().map(|_| ()).map_err(Clone::clone);
                // Sending fails only if the starter has gone.
                if tell.send(ready).is_err() || pinned.is_err() {
                    return;
                }
                while !stopped.load(Ordering::Relaxed) {
                    step();
                }
            })
            .map_err(|error| BackgroundThreadError::Refused(error.to_string()))?;
        let background = BackgroundThread { stop, thread: Some(thread) };
        match told.recv() {
            Ok(Ok(())) => Ok(background),
            Ok(Err(error)) => Err(BackgroundThreadError::Affinity(error)),
            Err(_) => Err(BackgroundThreadError::Refused("it ended at once".to_owned())),
        }
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread panics only if its step does; the starter then finds the work undone.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::allowed;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn it_works_until_dropped() {
        let steps = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&steps);
        let cpu = *allowed().last().unwrap();
        let background = BackgroundThread::start(cpu, move || {
            theirs.fetch_add(1, Ordering::Relaxed);
        });
        let background = background.unwrap();
        while steps.load(Ordering::Relaxed) < 10 {
            thread::yield_now();
        }
        drop(background);
        // The thread has released its reference.
        assert_eq!(Arc::strong_count(&steps), 1);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let error = BackgroundThread::start(8191, || ()).unwrap_err();
        assert!(error.to_string().contains("8191"), "{error}");
    }
}
