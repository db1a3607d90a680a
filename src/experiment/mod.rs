//! The claims of the source documents as data: cases, kernels, verdicts.
