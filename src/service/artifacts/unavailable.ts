/** The artifact store cannot be used at present. The API answers 503 with this message, and clients retry later. */
export class StoreUnavailable extends Error {
  readonly statusCode = 503;
  readonly attributes = {};
  constructor(message: string) {
    super(message);
    this.name = 'StoreUnavailable';
  }
}
