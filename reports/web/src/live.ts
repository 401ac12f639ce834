// Documents of a sweep that runs: the server of `mgtune sweep --watch` sends each as an event.

export interface LiveListener {
  document(json: string): void;
  ended(): void;
  lost(): void;  // the browser keeps trying
}

export function watchSweep(listener: LiveListener): void {
  const source = new EventSource('./events');
  source.addEventListener('report', (event) => {
    if (typeof event.data === 'string') listener.document(event.data);
  });
  source.addEventListener('end', () => {
    source.close();
    listener.ended();
  });
  source.addEventListener('error', () => listener.lost());
}
