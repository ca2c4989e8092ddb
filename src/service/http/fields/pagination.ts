import Type from 'typebox';

/** `limit` and `page` of every list (specification, "Limits"). */
export const paginationFields = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'Items of one page.' }),
  page: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 1,
    description: 'Which page; counts from 1.',
  }),
};

/** Rows to skip before a page. */
export function offsetOf(query: { limit: number; page: number }): number {
  return (query.page - 1) * query.limit;
}
