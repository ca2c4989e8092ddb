/** A template that cannot be parsed or rendered; the message names the problem and fits after the name of the field. */
export class TemplateError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TemplateError';
  }
}
