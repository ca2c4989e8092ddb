/** A description: paragraphs, in which words between backticks are code. */
export function Prose({ text, isInline = false }: { text: string; isInline?: boolean }) {
  if (isInline) return <Line text={text} />;
  return (
    <>
      {text.split(/\n\s*\n/).map((paragraph, index) => (
        <p key={index}>
          <Line text={paragraph} />
        </p>
      ))}
    </>
  );
}

function Line({ text }: { text: string }) {
  return (
    <>
      {text
        .split('`')
        .map((part, index) =>
          index % 2 === 1 ? <code key={index}>{part}</code> : <span key={index}>{part}</span>,
        )}
    </>
  );
}
