export function Page() {
  return <h1>Checks</h1>;
}
