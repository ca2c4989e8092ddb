/** Splits a stream into lines; an incomplete line waits for the next chunk. Lines above 64 KiB are cut there. */
export function lineSplitter(each: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > 65_536) {
      lines.push(rest);
      rest = '';
    }
    for (const line of lines) if (line !== '') each(line);
  };
}
