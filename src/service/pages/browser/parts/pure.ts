import { Component, h, type ComponentChild, type FunctionComponent } from 'preact';

/** A component that is drawn again only when one of its properties is another value. */
export function pure<Props extends object>(draw: FunctionComponent<Props>) {
  return class Pure extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const [before, after] = [Object.values(this.props), Object.values(next)];
      return before.length !== after.length || before.some((value, at) => value !== after[at]);
    }
    override render(): ComponentChild {
      return h(draw, this.props);
    }
  };
}
