import { useState } from 'preact/hooks';
import { text } from '../base/outside.ts';
import { bytes } from '../base/words.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { Part, Scroll } from './part.tsx';
import { pathOfFile, type Run, type StoredFile } from './types.ts';

/** Files of a run: screenshots and video in place, traces in Playwright's viewer, everything as a download. */
export function Files({ run }: { run: Run }) {
  const files = (run.artifacts ?? []).slice(0, 500);
  if (files.length === 0) return null;
  const shown = files.flatMap((file) => {
    const path = pathOfFile(file);
    return path === null ? [] : [{ file, path }];
  });
  const images = shown.filter(({ file }) => /\.(png|jpe?g|gif|webp)$/i.test(file.name));
  const videos = shown.filter(({ file }) => /\.(webm|mp4)$/i.test(file.name));
  const traces = shown.filter(({ file }) => file.type === 'trace' && file.name.endsWith('.zip'));
  return (
    <>
      {traces.length > 0 && <Traces traces={traces} />}
      {(images.length > 0 || videos.length > 0) && (
        <Part title="Screenshots and video">
          <div class="media">
            {videos.map(({ file, path }) => (
              <figure key={file.name}>
                <video controls preload="metadata" src={path} aria-label={`Video ${text(file.name, 200)}`} />
                <figcaption>{text(file.name, 200)}</figcaption>
              </figure>
            ))}
            {images.map(({ file, path }) => (
              <figure key={file.name}>
                <a href={path} target="_blank" rel="noreferrer">
                  <img src={path} alt={`Screenshot ${text(file.name, 200)}`} loading="lazy" />
                </a>
                <figcaption>{text(file.name, 200)}</figcaption>
              </figure>
            ))}
          </div>
        </Part>
      )}
      <Part title="Files">
        <FileTable files={files} />
      </Part>
    </>
  );
}

const states: { readonly [state: string]: string } = {
  pending: 'being uploaded',
  refused: 'refused: too large or too many',
  lost: 'lost',
};

export function FileTable({ files }: { files: readonly StoredFile[] }) {
  return (
    <Scroll label="List of files">
      <table aria-label="Files">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col" class="number">
              Size
            </th>
          </tr>
        </thead>
        <tbody>
          {files.map((file, at) => {
            const path = pathOfFile(file);
            const name = text(file.name, 200);
            return (
              <tr key={at}>
                <td class="break">
                  {path === null ? (
                    <>
                      {name} <span class="soft">{states[file.state] ?? text(file.state, 40)}</span>
                    </>
                  ) : (
                    <a href={path} download={name}>
                      {name}
                    </a>
                  )}
                </td>
                <td>{text(file.type, 40)}</td>
                <td class="number">{bytes(file.size)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

/** The viewer is loaded when it is asked for; the trace that is open is part of the address. */
function Traces({ traces }: { traces: readonly { file: StoredFile; path: string }[] }) {
  const { query } = usePlace();
  const [isLarge, setLarge] = useState(false);
  const open = traces.find(({ file }) => file.name === query.get('trace'));
  return (
    <Part title="Trace">
      <div class="buttons">
        {traces.map(({ file }) => (
          <button
            key={file.name}
            type="button"
            aria-pressed={open?.file.name === file.name}
            onClick={() => setQuery({ trace: open?.file.name === file.name ? null : file.name })}
          >
            {open?.file.name === file.name ? 'Close' : 'Open'} {text(file.name, 200)}
          </button>
        ))}
        {open !== undefined && (
          <button type="button" aria-pressed={isLarge} onClick={() => setLarge(!isLarge)}>
            Larger
          </button>
        )}
      </div>
      {open !== undefined && (
        <iframe
          key={open.path}
          class={isLarge ? 'trace large' : 'trace'}
          title={`Trace ${text(open.file.name, 200)}`}
          src={`/trace-viewer/index.html?trace=${encodeURIComponent(location.origin + open.path)}`}
        />
      )}
    </Part>
  );
}
