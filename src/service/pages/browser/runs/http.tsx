import { useState } from 'preact/hooks';
import { object, text, type Fields } from '../base/outside.ts';
import { bytes } from '../base/words.ts';
import { Json } from '../parts/json.tsx';
import { Facts, Headers, Part } from './part.tsx';
import type { Run } from './types.ts';

/** Request and response of URL and API checks. A body is shown as text, folded JSON or an image, and never as markup. */
export function Http({ run }: { run: Run }) {
  const request = object(object(run.details)['request']);
  const response = object(object(run.details)['response']);
  if (!['URL', 'API'].includes(run.checkType)) return null;
  return (
    <>
      <Part title="Request">
        <Facts
          facts={[
            ['Method', request['method']],
            ['URL', request['url']],
            ['Error', object(run.details)['requestError']],
          ]}
        />
        <Headers headers={request['headers']} label="Request headers" />
        <Body of={request} label="Request body" />
      </Part>
      {response['status'] !== undefined && (
        <Part title="Response">
          <Facts
            facts={[
              ['Status', `${text(response['status'], 10)} ${text(response['statusText'], 200)}`.trim()],
              ['Protocol', response['httpVersion'] ? `HTTP/${text(response['httpVersion'], 10)}` : ''],
              ['URL', response['href']],
              ['Size', bytes(response['size'])],
              ['Decoded size', bytes(response['decodedSize'])],
              ['Cut off', response['truncated'] === true ? true : null],
            ]}
          />
          <Headers headers={response['headers']} label="Response headers" />
          <Body of={response} label="Response body" />
        </Part>
      )}
    </>
  );
}

const maxText = 200_000;

/** A body as text, folded JSON or an image. */
export function Body({ of, label }: { of: Fields; label: string }) {
  const { body } = of;
  const [isRaw, setRaw] = useState(false);
  if (body === undefined || body === null || body === '') return null;
  const content = typeof body === 'string' ? body : text(body, maxText);
  const image = imageOf(of, content);
  const json = image === null ? parsed(content) : undefined;
  return (
    <details open={content.length < 20_000}>
      <summary>{label}</summary>
      {json !== undefined && (
        <div class="buttons">
          <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            As text
          </button>
        </div>
      )}
      {image !== null ? (
        <img class="preview" src={image} alt={label} />
      ) : json !== undefined && !isRaw ? (
        <Json value={json} />
      ) : (
        <pre class="body" tabIndex={0} aria-label={label}>
          {text(content, maxText)}
        </pre>
      )}
    </details>
  );
}

function parsed(content: string): unknown {
  if (!/^\s*[[{]/.test(content) || content.length > 2_000_000) return undefined;
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return undefined;
  }
}

/** A data URL of a body that is stored in base64; only kinds of images that cannot hold scripts. */
function imageOf({ headers, bodyEncoding, encoding, isBase64 }: Fields, content: string): string | null {
  const [, type] = /^(image\/(?:png|jpeg|gif|webp))\b/.exec(text(object(headers)['content-type'], 100)) ?? [];
  const isEncoded = bodyEncoding === 'base64' || encoding === 'base64' || isBase64 === true;
  if (type === undefined || !isEncoded || !/^[\w+/=\s]*$/.test(content)) return null;
  return `data:${type};base64,${content}`;
}
