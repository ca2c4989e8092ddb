/** The commands of a block of shell, as a reader would type them one after the other. */

/** Where a heredoc ends, as its line begins it. */
const heredoc = /<<-?\s*(['"]?)(\w+)\1/;

/** Whether quotes are still open at the end of the text; a comment closes none. */
function isOpen(text: string): boolean {
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at);
    if (quote === '' && letter === '#' && /(?:^|\s)$/.test(text.slice(0, at))) {
      const end = text.indexOf('\n', at);
      if (end < 0) return false;
      at = end;
    } else if (letter === '\\' && quote !== "'") at++;
    else if (quote === '' && (letter === "'" || letter === '"')) quote = letter;
    else if (letter === quote) quote = '';
  }
  return quote !== '';
}

/** Splits shell into commands: continued lines, texts in quotes, pipes and heredocs stay with the line that they begin on. */
export function commandsOf(shell: string): string[] {
  const commands: string[] = [];
  let open: string[] = [];
  // The lines outside of heredocs, in which quotes count.
  let outside = '';
  let end: string | null = null;
  for (const line of shell.replace(/\n$/, '').split('\n')) {
    open.push(line);
    if (end !== null) {
      if (line !== end) continue;
      end = null;
    } else {
      outside += `${line}\n`;
      end = heredoc.exec(line)?.[2] ?? null;
    }
    if (end !== null || /[\\|]$/.test(line) || isOpen(outside)) continue;
    commands.push(open.join('\n'));
    open = [];
    outside = '';
  }
  return open.length === 0 ? commands : [...commands, open.join('\n')];
}
