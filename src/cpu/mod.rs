//! One instruction a function, and what CPUID says about this CPU.
