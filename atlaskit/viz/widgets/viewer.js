// The page of the trace viewer: one run, or two side by side.
export default {
  render({ model, el }) {
    let walker = null, showStatic = () => {};
    const endListening = listen(model, (message) => {
      if (message.is !== "runs" || walker) return;
      walker = new Walker(el, model, message.runs);
      walker.onShown = () => { showStatic = hideStaticPicture(el); };
    });
    model.send({ want: "runs" });
    return () => {
      endListening();
      walker?.close();
      showStatic();
    };
  },
};
