import { Component, type ComponentChildren } from 'preact';
import { Problem } from './notice.tsx';

/** Shows an error of a page in its place, so that the rest of the page keeps working. */
export class Boundary extends Component<{ children: ComponentChildren }, { error: Error | null }> {
  override state = { error: null as Error | null };
  static override getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Problem title="This page has a fault">
        {error.message}{' '}
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </Problem>
    );
  }
}
