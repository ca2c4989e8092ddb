/** The artifact store cannot be used at present; the API answers 503 with this message, and the client tries again later. */
export class StoreUnavailable extends Error {
  readonly statusCode = 503;
  readonly attributes = {};
  constructor(message: string) {
    super(message);
    this.name = 'StoreUnavailable';
  }
}
