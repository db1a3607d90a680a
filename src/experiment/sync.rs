//! Locks that threads of an experiment share: the standard library's, or without `std`, spin locks.

#[cfg(feature = "std")]
pub(crate) use std::sync::{Mutex, MutexGuard, RwLock};
#[cfg(feature = "std")]
use std::sync::{PoisonError, RwLockReadGuard, RwLockWriteGuard};

#[cfg(not(feature = "std"))]
pub(crate) use spinning::{Mutex, MutexGuard, RwLock};
#[cfg(not(feature = "std"))]
use spinning::{PoisonError, ReadGuard as RwLockReadGuard, WriteGuard as RwLockWriteGuard};

/// Takes a lock. Ignores poisoning: a panic leaves no data half written.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a lock to read. Ignores poisoning, as [`lock`] does.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a lock to write. Ignores poisoning, as [`lock`] does.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Yields the CPU to another waiting thread. Without `std` it only spins.
pub(crate) fn give_way() {
    #[cfg(feature = "std")]
    std::thread::yield_now();
    #[cfg(not(feature = "std"))]
    core::hint::spin_loop();
}

/// The part of the standard library's interface that experiments use.
#[cfg(any(test, not(feature = "std")))]
mod spinning {
    // A value is shared behind a word that records its holder.
    #![allow(unsafe_code)]

    use core::cell::UnsafeCell;
    use core::ops::{Deref, DerefMut};
    use core::sync::atomic::{AtomicU32, Ordering};

    /// The error for a lock whose holder panicked. It never occurs here, because a panic ends the
    /// program.
    pub(crate) struct PoisonError<G>(G);

    impl<G> PoisonError<G> {
        pub(crate) fn into_inner(self) -> G {
            self.0
        }
    }

    type Locked<G> = Result<G, PoisonError<G>>;

    /// The number of readers, or [`WRITER`].
    #[derive(Debug, Default)]
    struct Word(AtomicU32);

    const WRITER: u32 = u32::MAX;

    impl Word {
        const fn new() -> Self {
            Word(AtomicU32::new(0))
        }

        /// Waits until `taken` returns a new value for the word, and stores that value.
        fn take(&self, taken: impl Fn(u32) -> Option<u32>) {
            let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
            while self.0.fetch_update(acquire, relaxed, &taken).is_err() {
                core::hint::spin_loop();
            }
        }

        fn take_to_write(&self) {
            self.take(|word| (word == 0).then_some(WRITER));
        }

        fn take_to_read(&self) {
            self.take(|word| (word < WRITER - 1).then(|| word + 1));
        }
    }

    /// A value that one thread at a time may access: a lock that is only taken to write.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub(crate) struct Mutex<T>(RwLock<T>);

    pub(crate) type MutexGuard<'l, T> = WriteGuard<'l, T>;

    // SAFETY: it hands out writing guards alone, of which there is one at a time.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Mutex(RwLock::new(value))
        }

        pub(crate) fn lock(&self) -> Locked<MutexGuard<'_, T>> {
            self.0.write()
        }
    }

    /// A value that one thread at a time may write, or several may read.
    #[derive(Debug, Default)]
    #[repr(C)]
    pub(crate) struct RwLock<T> {
        word: Word,
        value: UnsafeCell<T>,
    }

    // SAFETY: the word ensures that there is either one writing guard or only reading guards.
    unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

    impl<T> RwLock<T> {
        pub(crate) const fn new(value: T) -> Self {
            RwLock { word: Word::new(), value: UnsafeCell::new(value) }
        }

        pub(crate) fn read(&self) -> Locked<ReadGuard<'_, T>> {
            self.word.take_to_read();
            Ok(ReadGuard(self))
        }

        pub(crate) fn write(&self) -> Locked<WriteGuard<'_, T>> {
            self.word.take_to_write();
            Ok(WriteGuard(self))
        }
    }

    pub(crate) struct ReadGuard<'l, T>(&'l RwLock<T>);

    impl<T> Deref for ReadGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: while this guard exists, no thread writes.
            unsafe { &*self.0.value.get() }
        }
    }

    impl<T> Drop for ReadGuard<'_, T> {
        fn drop(&mut self) {
            self.0.word.0.fetch_sub(1, Ordering::Release);
        }
    }

    pub(crate) struct WriteGuard<'l, T>(&'l RwLock<T>);

    impl<T> Deref for WriteGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: this guard is the only one, and the reference lives no longer than the borrow of
            // the guard.
            unsafe { &*self.0.value.get() }
        }
    }

    impl<T> DerefMut for WriteGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: as in `deref`.
            unsafe { &mut *self.0.value.get() }
        }
    }

    impl<T> Drop for WriteGuard<'_, T> {
        fn drop(&mut self) {
            self.0.word.0.store(0, Ordering::Release);
        }
    }

    #[cfg(all(test, feature = "std"))]
    mod tests {
        use super::*;

        /// Additions under a lock are not lost, and readers see both halves equal.
        #[test]
        fn one_thread_at_a_time_has_what_is_locked() {
            const EACH: u64 = 10_000;
            let sum = Mutex::new(0_u64);
            let pair = RwLock::new([0_u64; 2]);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for _ in 0..EACH {
                            *sum.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                            let [one, other] = *pair.read().unwrap_or_else(PoisonError::into_inner);
                            assert_eq!(one, other);
                            let mut pair = pair.write().unwrap_or_else(PoisonError::into_inner);
                            pair[0] += 1;
                            pair[1] += 1;
                        }
                    });
                }
            });
            assert_eq!(*sum.lock().unwrap_or_else(PoisonError::into_inner), 3 * EACH);
            assert_eq!(*pair.read().unwrap_or_else(PoisonError::into_inner), [3 * EACH; 2]);
        }
    }
}
