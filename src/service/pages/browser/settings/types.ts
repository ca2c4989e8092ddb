/** What the settings edit, as the API shows it. */

export type ApiKey = {
  readonly id: string;
  readonly name: string;
  readonly role: 'ADMIN' | 'READ_WRITE' | 'READ_RUN' | 'READ_ONLY';
  readonly maskedKey: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly created_at: string;
};

export type Variable = {
  readonly key: string;
  readonly value: string;
  readonly locked: boolean;
  readonly secret: boolean;
};

export type Snippet = {
  readonly id: number;
  readonly name: string;
  readonly script: string;
  readonly updated_at: string | null;
  readonly created_at: string;
};

export type Certificate = {
  readonly id: string;
  readonly host: string;
  readonly cert: string;
  readonly ca: string | null;
  readonly hasPassphrase: boolean;
  readonly subject: string;
  readonly issuer: string;
  readonly fingerprint: string;
};
