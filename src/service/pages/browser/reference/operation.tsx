import { Copy } from '../parts/copy.tsx';
import {
  exampleOf,
  mediaOf,
  resolved,
  type ApiDocument,
  type Operation,
  type Parameter,
} from './document.ts';
import { Prose } from './prose.tsx';
import { settable } from './request.ts';
import { Limits, limitsOf, SchemaFields, typeName } from './schema.tsx';
import { TryIt } from './try-it.tsx';

/** One operation: a line that folds, and all about it below. */

const colours: { readonly [method: string]: string } = {
  GET: 'passed',
  POST: 'errored',
  PUT: 'degraded',
  PATCH: 'degraded',
  DELETE: 'failed',
};

export function OperationEntry({
  operation,
  document,
  isOpen,
  onToggle,
}: {
  operation: Operation;
  document: ApiDocument;
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}) {
  const { operationId, method, path, summary = '' } = operation;
  return (
    <article id={operationId} class="ref-operation">
      <h3>
        <button
          type="button"
          class="ref-line"
          aria-expanded={isOpen}
          aria-controls={`${operationId}-body`}
          onClick={() => onToggle(!isOpen)}
        >
          <span class={`ref-method ${colours[method] ?? 'idle'}`}>{method}</span>
          <code>{path}</code>
          <span class="ref-summary">{summary}</span>
        </button>
      </h3>
      <div id={`${operationId}-body`} hidden={!isOpen}>
        {isOpen && <Body operation={operation} document={document} />}
      </div>
    </article>
  );
}

function Body({ operation, document }: { operation: Operation; document: ApiDocument }) {
  const { description = '', operationId, requestBody, responses } = operation;
  const { schemas } = document.components;
  const body = mediaOf(requestBody);
  const statuses = Object.entries(responses);
  return (
    <div class="ref-body">
      <p class="soft">
        <a href={`#${operationId}`}>#{operationId}</a>
      </p>
      <Prose text={description} />
      <Parameters parameters={settable(operation)} document={document} />
      {body !== null && (
        <section>
          <h4>Body</h4>
          <p class="soft">
            {body.type}
            {requestBody?.required === true ? ', required' : ', optional'}
          </p>
          {body.media.schema !== undefined && <SchemaFields schema={body.media.schema} schemas={schemas} />}
          {body.media.example !== undefined && (
            <Copy
              label={`Example body of ${operationId}`}
              text={JSON.stringify(body.media.example, null, 2)}
            />
          )}
        </section>
      )}
      <section>
        <h4>Try it</h4>
        <TryIt key={operationId} operation={operation} schemas={schemas} />
      </section>
      <section>
        <h4>Answers</h4>
        {statuses
          .filter(([status]) => Number(status) < 400)
          .map(([status]) => (
            <Response key={status} status={status} operation={operation} document={document} isOpen />
          ))}
      </section>
      <section>
        <h4>Errors</h4>
        {statuses
          .filter(([status]) => Number(status) >= 400)
          .map(([status]) => (
            <Response key={status} status={status} operation={operation} document={document} />
          ))}
      </section>
    </div>
  );
}

function Parameters({ parameters, document }: { parameters: readonly Parameter[]; document: ApiDocument }) {
  const { schemas } = document.components;
  if (parameters.length === 0) return null;
  return (
    <section>
      <h4>Parameters</h4>
      <dl class="ref-fields">
        {parameters.map((parameter) => {
          const { name, schema = {}, description = schema.description } = parameter;
          return (
            <div key={`${parameter.in} ${name}`} class="ref-field">
              <dt>
                <code>{name}</code>{' '}
                <span class="ref-type">
                  {typeName(schema, schemas)} in the {parameter.in}
                </span>
                {parameter.required === true && <span class="ref-required">required</span>}
              </dt>
              <dd>
                {description !== undefined && <Prose text={description} />}
                <Limits texts={limitsOf(schema, schemas)} />
              </dd>
            </div>
          );
        })}
      </dl>
    </section>
  );
}

function Response({
  status,
  operation,
  document,
  isOpen = false,
}: {
  status: string;
  operation: Operation;
  document: ApiDocument;
  isOpen?: boolean;
}) {
  const response = operation.responses[status];
  const { schemas } = document.components;
  const content = mediaOf(response);
  const example = content === null ? undefined : exampleOf(content.media, document);
  const name = content?.media.schema === undefined ? null : resolved(content.media.schema, schemas).name;
  const headers = Object.entries(response?.headers ?? {});
  return (
    <details class="ref-response" open={isOpen}>
      <summary>
        <b>{status}</b> {response?.description}
      </summary>
      {content !== null && (
        <p class="soft">
          {content.type}
          {name !== null && `, ${name}`}
        </p>
      )}
      {headers.map(([header, { description }]) => (
        <p key={header}>
          Header <code>{header}</code>
          {description !== undefined && (
            <>
              : <Prose text={description} isInline />
            </>
          )}
        </p>
      ))}
      {content?.media.schema !== undefined && (
        <SchemaFields schema={content.media.schema} schemas={schemas} />
      )}
      {example !== undefined && (
        <Copy
          label={`Example answer ${status} of ${operation.operationId}`}
          text={typeof example === 'string' ? example : JSON.stringify(example, null, 2)}
        />
      )}
    </details>
  );
}
