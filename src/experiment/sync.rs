//! Locks that threads of an experiment share: the standard library's, or without it locks whose waiting
//! threads spin.

#[cfg(feature = "std")]
pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

#[cfg(not(feature = "std"))]
pub(crate) use spinning::{Mutex, MutexGuard, PoisonError, RwLock};

/// Gives the CPU to another thread that waits for it.
pub(crate) fn give_way() {
    #[cfg(feature = "std")]
    std::thread::yield_now();
    #[cfg(not(feature = "std"))]
    core::hint::spin_loop();
}

/// The part of the standard library's interface that experiments use.
#[cfg(any(test, not(feature = "std")))]
mod spinning {
    // A value is shared behind a word that says who has it.
    #![allow(unsafe_code)]

    use core::cell::UnsafeCell;
    use core::ops::{Deref, DerefMut};
    use core::sync::atomic::{AtomicU32, Ordering};

    /// What a lock answers whose holder panicked: never here, where a panic ends the program.
    pub(crate) struct PoisonError<G>(G);

    impl<G> PoisonError<G> {
        pub(crate) fn into_inner(self) -> G {
            self.0
        }
    }

    type Locked<G> = Result<G, PoisonError<G>>;

    /// How many read, or [`WRITER`].
    #[derive(Debug, Default)]
    struct Word(AtomicU32);

    const WRITER: u32 = u32::MAX;

    impl Word {
        const fn new() -> Self {
            Word(AtomicU32::new(0))
        }

        /// Waits until `taken` says how the word becomes another.
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

    /// A value that one thread at a time has.
    #[derive(Debug, Default)]
    #[repr(C)]
    pub(crate) struct Mutex<T> {
        word: Word,
        value: UnsafeCell<T>,
    }

    // SAFETY: one guard at a time refers to the value, as the word says.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Mutex {
                word: Word::new(),
                value: UnsafeCell::new(value),
            }
        }

        pub(crate) fn lock(&self) -> Locked<MutexGuard<'_, T>> {
            self.word.take_to_write();
            Ok(MutexGuard(self))
        }
    }

    pub(crate) struct MutexGuard<'l, T>(&'l Mutex<T>);

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            // SAFETY: this guard is the only one, and lends what it is lent.
            unsafe { &*self.0.value.get() }
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: likewise.
            unsafe { &mut *self.0.value.get() }
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            self.0.word.0.store(0, Ordering::Release);
        }
    }

    /// A value that one thread at a time writes, or several read.
    #[derive(Debug, Default)]
    pub(crate) struct RwLock<T> {
        word: Word,
        value: UnsafeCell<T>,
    }

    // SAFETY: there is one guard that writes, or there are some that read, as the word says.
    unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

    impl<T> RwLock<T> {
        pub(crate) const fn new(value: T) -> Self {
            RwLock {
                word: Word::new(),
                value: UnsafeCell::new(value),
            }
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
            // SAFETY: while this guard is there nobody writes.
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
            // SAFETY: this guard is the only one, and lends what it is lent.
            unsafe { &*self.0.value.get() }
        }
    }

    impl<T> DerefMut for WriteGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: likewise.
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

        /// Threads that add under a lock lose no addition, and those that read see both halves alike.
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
            assert_eq!(
                *sum.lock().unwrap_or_else(PoisonError::into_inner),
                3 * EACH
            );
            assert_eq!(
                *pair.read().unwrap_or_else(PoisonError::into_inner),
                [3 * EACH; 2]
            );
        }
    }
}
