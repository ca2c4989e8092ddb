import type { Outcome } from './http-call.ts';

/** One mail to one address, as text and as HTML. */
export type Mail = {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The same at every try; the Message-ID is derived from it. */
  id: string;
  headers?: { readonly [name: string]: string };
};

/** Sends one mail and returns whether the mail server accepted it. Never rejects. */
export type SendMail = (mail: Mail) => Promise<Outcome>;
