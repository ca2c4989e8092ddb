/** Runs in every test file: nothing yet that all tests need. */
export {};
