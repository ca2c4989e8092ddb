/** Why a check does not run now. `until`: when that ends, if it is known. */
export type Wait = { readonly reason: string; readonly message: string; readonly until: string | null };
